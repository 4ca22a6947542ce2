// Package anthropic calls models over Anthropic's Messages API, and servers that
// speak it (MiniMax, Kimi, …).
//
// The vendor's SDK carries the call: address, credentials, version header, event
// stream. Its retries are off, because retrying is decided above. Requests are
// written and events are read with types of our own, which name exactly the
// fields we use and cost a third of the SDK's to decode.
//
// A [Client] owns nothing but the HTTP client it was given.
//
//	c := anthropic.New(model.NewHTTPClient(model.HTTPConfig{}))
//	families := map[model.API]model.Family{model.APIAnthropic: c.Messages}
package anthropic
