// Package testkit holds what the tests of many rooms share: golden files, a
// logger into the test's output and the check for leaked goroutines. Nothing
// but tests imports it.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
//	func TestPrompt(t *testing.T) {
//		testkit.Golden(t, "prompt.txt", build(testkit.Log(t)))
//	}
package testkit
