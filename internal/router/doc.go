// Package router is the one door: every message, from whatever surface, comes
// in here, is checked, gets its session and leaves as a run in a lane.
//
// It owns the runs that are under way, the short memory of those that ended, and
// what waits behind a busy session. With a ledger, what was accepted outlives the
// process: [Router.Recover] ends what an earlier one left open. It starts one
// goroutine per accepted run; [Router.Drain] waits for all of them. The gateway
// calls it for agent, chat.send, chat.abort, sessions.patch and sessions.reset;
// channels and schedules will use the same calls.
//
// Router and agent stand on one floor and do not know each other. They are joined
// where the program is wired: the agent is the router's Runner, the router passes
// the agent's events on to the gateway.
//
//	var rt *router.Router
//	ag := agent.New(agent.Config{…, Emit: func(e run.Event) { rt.Publish(e) }})
//	rt = router.New(router.Config{Runner: ag, Status: ag.Status, …, Emit: func(e run.Event) { gw.Publish(e) }})
//	if err := rt.Recover(ctx); err != nil { … } // before requests come in
//	r, err := rt.Agent(ctx, router.AgentRequest{AgentParams: params})
//	<-r.Done()
//	outcome, err := r.Result()
//
// A request that is refused gives an [*Error], whose text is for the caller.
package router
