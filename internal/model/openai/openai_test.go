package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"openclaw/internal/model"
	"openclaw/internal/model/modeltest"
	"openclaw/internal/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client whose connections end with the test.
func client(t testing.TB) *openai.Client {
	hc := model.NewHTTPClient(model.HTTPConfig{})
	t.Cleanup(hc.CloseIdleConnections)
	return openai.New(hc)
}

func TestCompletionsContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APICompletions, Wire: true, Signed: true, Open: func(t *testing.T, target model.Target) model.Model {
		target.BaseURL += "/v1"
		m, err := client(t).Completions(target)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}})
}

func TestResponsesContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APIResponses, Wire: true, Signed: true, Open: func(t *testing.T, target model.Target) model.Model {
		target.BaseURL += "/v1"
		m, err := client(t).Responses(target)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}})
}
