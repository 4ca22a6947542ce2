// Command stagewhisper has the three sides of StageWhisper in one binary: the blind
// relay, a desktop without a window, and an adapter that pairs any assistant.
//
// It wires the rooms together and holds nothing else: [main] hands the arguments to a
// command tree with one verb for each file. The process owns the signal context, the
// listeners and, for desktop commands, a desktop of its own when none is running.
//
//	stagewhisper demo
//	stagewhisper relay --registration open
//	stagewhisper desktop pair --api-url http://127.0.0.1:8790
//	stagewhisper assistant pair --code stagewhisper-pair:v2:…
//
// See docs/stagewhisper.md.
package main
