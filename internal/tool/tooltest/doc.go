// Package tooltest holds the suite that every tool passes: its spec is complete,
// bad arguments are refused in words, an ended context ends the call soon, and
// whatever it answers can be stored.
//
//	func TestContract(t *testing.T) { tooltest.Run(t, files.Tools(scope)) }
package tooltest
