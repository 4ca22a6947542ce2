// Command command is an assistant behind "stagewhisper assistant run --backend
// command": it reads lines of JSON from standard input and writes lines of JSON. It
// only counts words, but shows everything an assistant has to do. It owns nothing; the
// adapter starts it and remembers the conversation for it.
//
//	stagewhisper assistant run --backend command -- ./command
//
// See docs/stagewhisper.md#a-command-as-the-assistant.
package main
