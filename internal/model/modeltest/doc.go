// Package modeltest is the suite that every model family passes: streaming,
// reasoning, tool calls, errors, cancelling, broken answers and what must never
// leak. It talks to the deterministic server of package mockllm and to servers
// that answer nonsense.
//
//	func TestContract(t *testing.T) {
//		modeltest.Run(t, modeltest.Setup{API: model.APICompletions, Wire: true, Open: open})
//	}
package modeltest
