// Package stagewhisper is the gateway's own assistant for StageWhisper: what a desktop
// asks during a call is answered by an agent of this gateway.
//
// Each pairing has an agent of its own, with its own workspace and sessions, so that no
// memory of one desktop is seen by another. Reasoning jobs are single questions to the
// agent's model, without tools and without a memory. What people write and what is said
// in a call become runs of the agent, through the same door as every other message.
//
// The package owns no state: pairings belong to [openclaw/internal/assistant], agents
// and bindings to the config file. It runs what assistant.Host runs.
//
//	p := stagewhisper.New(stagewhisper.Config{Dir: dir, Config: …, Router: rt, Models: …})
//	go p.Run(ctx)      // once the router has recovered
//	p.Publish(event)   // every event of every run
package stagewhisper
