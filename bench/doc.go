// Command bench measures the real binary and prints the numbers of
// docs/performance.md: start to the first handshake, --version, idle memory,
// health requests a second over many connections, what a run costs beyond its
// model, and how fast a streamed answer reaches many subscribers.
//
// Every number is the median of several rounds on a throw-away state folder, with
// the mock model server in this process standing in for the vendor.
//
//	make bench
package main
