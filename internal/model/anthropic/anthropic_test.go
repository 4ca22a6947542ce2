package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"openclaw/internal/model"
	"openclaw/internal/model/anthropic"
	"openclaw/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client whose connections end with the test.
func client(t testing.TB) *anthropic.Client {
	hc := model.NewHTTPClient(model.HTTPConfig{})
	t.Cleanup(hc.CloseIdleConnections)
	return anthropic.New(hc)
}

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APIAnthropic, Wire: true, Signed: true, Open: func(t *testing.T, target model.Target) model.Model {
		m, err := client(t).Messages(target)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}})
}
