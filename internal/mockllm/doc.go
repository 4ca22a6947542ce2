// Package mockllm is a deterministic stand-in for a language-model API server,
// for tests and measurements. No model runs behind it: it answers with what the
// test asked for, so a test knows the reply before it sends the request. Every
// response carries the header X-Mock-LLM: 1.
//
// It serves Chat Completions, Responses and Messages, streamed and plain, with
// and without the /v1 prefix, and also /embeddings, /models, /healthz, /stats
// and POST /reset. What it answers stands in the last user message, in the
// language of package cue; a line holding "!mock CUE" wins over the others.
// The server keeps no conversation: which step of a chain is due follows from
// how many assistant turns come after the last user message.
//
// A [Server] owns counters and nothing else; it starts no goroutines.
//
//	srv := httptest.NewServer(mockllm.New(mockllm.Config{}))
//	// base URL for OpenAI clients: srv.URL + "/v1"; for Anthropic ones: srv.URL
package mockllm
