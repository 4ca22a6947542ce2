// Package jetstreamtest runs NATS servers with JetStream for tests, as an operator of a
// relay would have them: outside the relay, alone or as a cluster.
package jetstreamtest
