// Package shell holds the tools with which a model runs commands: exec starts
// one and process follows up on those that went to the background.
//
// A [Shell] owns every process it started. Each command is the leader of its own
// session, so that a timeout, an abort, a kill and the end of the gateway take
// the whole tree with it, grandchildren included. A command that has not ended
// after a while moves to the background: it keeps running while the gateway
// lives and is reached through process by the agent that started it. Programs
// that leave the session and close its output on purpose, as daemons do, are no
// longer ours once the command has ended.
//
// What a command writes is cleaned of control sequences and kept in a bounded
// tail, whatever its amount; a flood is slowed down instead of stored. Each
// running command has two goroutines, one that reads and one that waits; they
// end with it, and [Shell.Close] waits for them.
//
// The gateway makes one Shell and runs it beside its other lives, the builder of
// a run's tool list asks it for tools:
//
//	sh := shell.New(shell.Config{Env: env, Home: home, Shell: "/bin/bash"})
//	group.Go(func() error { return sh.Run(ctx) })
//	tools := sh.Tools(shell.Scope{AgentID: "main", SessionKey: key, Dir: workspace})
package shell
