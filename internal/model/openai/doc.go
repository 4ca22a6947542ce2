// Package openai calls models over the two APIs of OpenAI: Chat Completions,
// which many servers speak (OpenRouter, Ollama, llama.cpp, vLLM, Gemini's
// compatible endpoint, …), and Responses.
//
// The vendor's SDK carries the call: address, credentials, event stream. Its
// retries are off, because retrying is decided above. Requests are written and
// events are read with types of our own: they name exactly the fields we use,
// those that only some servers know among them, and decoding an event costs a
// quarter of what the SDK's types cost.
//
// A [Client] owns nothing but the HTTP client it was given.
//
//	c := openai.New(model.NewHTTPClient(model.HTTPConfig{}))
//	families := map[model.API]model.Family{model.APICompletions: c.Completions, model.APIResponses: c.Responses}
package openai
