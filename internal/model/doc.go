// Package model is the contract between the agent and language models.
//
// A [Model] streams one answer as typed parts and fails with a typed [Error]
// that says whether another try can help. Which endpoint serves a reference
// such as "openai/gpt-5.2", with which key, is decided by a [Directory] from the
// configuration, the catalogue and the stored credentials; it also says in which
// order fallbacks are tried, and when the built-in offline model stands in. The
// wire families live in the child packages, as do keys (auth) and facts about
// models (catalog); modeltest holds the suite that all families pass.
//
// What families share is here too: the HTTP client that notices stalls, the
// reading of error answers, and the conversion of a history that came from
// elsewhere. The package owns no goroutines and no files, and keeps nothing
// between calls.
//
//	endpoint, err := directory.Resolve("openai/gpt-5.2")
//	for part, err := range endpoint.Model.Stream(ctx, req) {
//		…
//	}
package model
