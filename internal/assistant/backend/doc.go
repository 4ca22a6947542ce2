// Package backend drives agents that are not ours: it makes an [assistant.Agent] of a
// server that speaks Chat Completions or Responses ([Model]), of a child process that
// speaks lines of JSON ([Command]), of a gateway ([Gateway]), and of a few rules that
// need nothing at all ([Offline]).
//
// It owns the memory of conversations where the agent has none: one bounded file for
// each session and kind of turn, below a folder that belongs to one pairing. A Command
// owns its child process. cmd/stagewhisper builds one for each pairing; what the lines
// of a child look like stands in docs/stagewhisper.md#a-command-as-the-assistant.
//
//	agent := backend.NewModel(backend.ModelConfig{API: backend.NewChat(endpoint), Memory: backend.Memory{Dir: dir}})
package backend
