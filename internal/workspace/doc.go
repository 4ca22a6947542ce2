// Package workspace knows an agent's folder: it creates the files an agent
// starts with, reads them for the prompt and reads the agent's identity.
//
// It owns the templates, which are compiled in, and writes only files that do
// not exist. A deleted BOOTSTRAP.md stays deleted. It keeps no state and starts
// no goroutines. The agent calls it before every run; status and the command
// line ask it who the agent is.
//
//	created, err := workspace.Ensure(ctx, dir, workspace.EnsureOptions{})
//	files := workspace.Load(dir, workspace.LoadOptions{Main: true})
package workspace
