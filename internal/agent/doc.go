// Package agent executes runs: it puts the prompt together, talks to the model,
// runs the tools it calls and says what happens as numbered events.
//
// [Agent.Run] takes one accepted request and returns when nothing of it is left.
// A run goes through candidate models until one does the job; with each it makes
// an attempt, which is model call, tool calls, model call, and so on until the
// model calls no more tools. Failed model calls are repeated a few times. Every
// message is in the transcript before it is used; the session entry is updated
// before the terminal event, so whoever hears of the end reads the new state.
//
// The package owns the messages steered into live runs ([Agent.Steer]) and starts
// no goroutines. A panic, of a tool or in a run, is contained: it ends the call or
// the run with a clear error and leaves the stack in the log. The router is the
// caller; it holds the session's lane meanwhile. They are joined where the program
// is wired:
//
//	ag := agent.New(agent.Config{
//		Sessions: stores.Of,                       // agent id → *session.Store
//		Models:   func(id string) *model.Directory { … },
//		Settings: func(id string) agent.Settings { … from the configuration … },
//		Tools: func(s agent.ToolScope, own []tool.Tool) []tool.Tool {
//			all := append(file.Tools(s.Workspace), shell.Tools(…)...)
//			kept, _ := tool.Filter(append(all, own...), layers(s)...)
//			return kept
//		},
//		Emit:    func(e run.Event) { rt.Publish(e) }, // the router, which passes it on
//		Version: version, Host: host, Home: home, Log: log,
//	})
package agent
