// Package run holds the words of a run: its identity, the request that starts
// it, the events it tells the world and the outcome it ends with.
//
// A run begins when a request is accepted and ends with exactly one terminal
// lifecycle event. The package is pure data; agent produces these values,
// router, gateway and the command line consume them. The status card that people
// read is here too, because the router and the agent both show it.
package run
