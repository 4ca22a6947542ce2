// Command openclaw is the gateway and its command line in one binary.
//
// It wires the rooms together and holds nothing else: [main] hands the arguments
// to a command tree with one verb for each file; app.go joins config, logs,
// sessions, lanes, models, tools, agent, router and gateway; builtin.go lists the
// model families and tools that are compiled in. The process owns the signal
// context; the gateway and an embedded run live under it.
//
//	openclaw setup
//	openclaw gateway
//	openclaw agent --agent main --message "hello"
//
// How a command behaves in public (exit codes, flags, JSON) is described in
// docs/commands.
package main
