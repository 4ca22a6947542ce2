package main

import (
	"net/http"

	"openclaw/internal/model"
	"openclaw/internal/model/anthropic"
	"openclaw/internal/model/offline"
	"openclaw/internal/model/openai"
)

// families are the wire families of language models that are compiled in.
func families(hc *http.Client) map[model.API]model.Family {
	o := openai.New(hc)
	a := anthropic.New(hc)
	return map[model.API]model.Family{
		model.APICompletions: o.Completions,
		model.APIResponses:   o.Responses,
		model.APIGoogle:      o.Completions,
		model.APIAnthropic:   a.Messages,
		model.APIOffline:     offline.New,
	}
}
