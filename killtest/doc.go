// Package killtest looks at the program as it is shipped. It ends the real gateway with SIGKILL at random moments of a mixed
// load and checks, after every restart, that what had been acknowledged is there: every
// accepted run has one end, no message is answered twice, config writes, session
// changes and pairings are on the disk, and every file can be read.
//
// `go test ./killtest` does it 40 times; KILLS=300 KILLSEED=1 go test ./killtest does it
// more often, or again with the seed of an earlier run.
package killtest
