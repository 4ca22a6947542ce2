// Package workspace knows an agent's folder: it creates the files an agent
// starts with, reads them for the prompt and reads the agent's identity.
//
// It owns the templates, which are compiled in. By itself it writes only files
// that do not exist, and a deleted BOOTSTRAP.md stays deleted; [WriteFile] replaces
// one of the named files for somebody who edits them. It keeps no state, apart from
// a [Cache] that its owner holds, and starts no goroutines. The agent calls it before
// every run; status, the gateway and the command line ask it who the agent is.
//
//	created, err := workspace.Ensure(ctx, dir, workspace.EnsureOptions{})
//	files := workspace.Load(dir, workspace.LoadOptions{Main: true})
package workspace
