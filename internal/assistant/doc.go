// Package assistant is the assistant's side of StageWhisper: it pairs with a desktop,
// takes its questions and messages, has an [Agent] think, and brings the answers back,
// sealed over a relay or directly between two loopback listeners.
//
// It owns the state of a pairing: keys and tokens ([Store]), the jobs it has seen
// ([Client]), and what was said and not yet answered or delivered ([Talk]). Whatever it
// acknowledges is on the disk. It runs in our gateway as a plugin and in the
// standalone adapter; both give it an Agent. See docs/byo.md.
//
//	talk, err := assistant.OpenTalk(assistant.TalkConfig{Path: path, Agent: agent, Courier: callbacks.Deliver})
//	go talk.Run(ctx)
//	http.Serve(listener, assistant.NewIngress(assistant.IngressConfig{Token: token, Talk: talk, Callbacks: callbacks}))
package assistant
