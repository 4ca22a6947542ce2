// Package model is the contract between the agent and language models.
//
// A [Model] streams one answer as typed parts and fails with a typed [Error]
// that says whether another try can help. Which endpoint serves a reference
// such as "openai/gpt-5.2", with which key, is decided by a [Directory] from the
// configuration, the catalogue and the stored credentials. The wire families
// live in the child packages; modeltest holds the suite they all pass.
//
//	for part, err := range m.Stream(ctx, req) {
//		…
//	}
package model
