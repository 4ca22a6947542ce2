// Command bench measures the real binary and prints the speed table of
// docs/performance.md: each row is a kind of work, with what the reference needs
// for it, what we promise, and what was measured here.
//
// Every number is a median on a throw-away state folder. The model is a recording
// of the mock server's answer, given at once, so that a run costs what the gateway
// makes of it. The clients share the processors with the gateway: they write frames
// that were made beforehand and count those that come back without parsing them,
// and the column of CPU time says what was the gateway's own. Sizes are in
// MB of 10^6 bytes.
//
//	make bench
//	go run ./bench -only 'health|stream' -profile /tmp/profiles
package main
