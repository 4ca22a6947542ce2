// Package desktop is the desktop's side of StageWhisper, without a window: it pairs
// with assistants over a relay or directly, asks them to reason about a live call,
// keeps one conversation for each session and shows what comes back, chat and insights
// apart.
//
// It owns the desktop's state folder: settings and keys, conversations, what was said
// and not yet delivered. Whatever it acknowledges is on the disk. A [Desk] is the whole;
// its HTTP API on loopback is what the command line and a page use. See docs/byo.md.
//
//	desk, err := desktop.Open(desktop.Config{Dir: dir})
//	go desk.Run(ctx)
//	msg, err := desk.Say(ctx, assistantID, "s-7", "What did they say about the price?")
package desktop
