package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"openclaw/internal/model"
)

// Client makes models that share one HTTP client.
type Client struct{ http *http.Client }

// New returns a client that calls through hc.
func New(hc *http.Client) *Client { return &Client{http: hc} }

// endpoint is what both APIs share: where to call and how to name failures.
type endpoint struct {
	target model.Target
	sdk    sdk.Client
}

// stainless are headers by which the SDK describes the machine it runs on.
var stainless = []string{"X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-Os", "X-Stainless-Arch",
	"X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Retry-Count", "X-Stainless-Timeout"}

func (c *Client) endpoint(t model.Target) (endpoint, error) {
	if !strings.HasPrefix(t.BaseURL, "http://") && !strings.HasPrefix(t.BaseURL, "https://") {
		return endpoint{}, fmt.Errorf("provider %s needs a baseUrl that starts with http:// or https://", t.Info.Ref.Provider)
	}
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimRight(t.BaseURL, "/") + "/"),
		option.WithHTTPClient(c.http),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "openclaw"),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err != nil {
				return nil, err
			}
			if err := model.CheckResponse(t, res); err != nil {
				return nil, err
			}
			return res, nil
		}),
	}
	for _, h := range stainless {
		opts = append(opts, option.WithHeaderDel(h))
	}
	if t.Key != "" {
		opts = append(opts, option.WithAPIKey(t.Key.Reveal()))
	}
	for name, value := range t.Headers {
		opts = append(opts, option.WithHeader(name, value.Reveal()))
	}
	// A literal, because the SDK's constructor reads the environment.
	return endpoint{target: t, sdk: sdk.Client{Options: opts}}, nil
}

// handler takes the events of one answer. Its error ends the stream.
type handler interface {
	// event takes one event; more is false when the caller wants no more.
	event(data []byte) (more bool, err error)
	// finish is called at the end of the events.
	finish() error
}

// call posts body and feeds the events of the answer to h.
func (e endpoint) call(ctx context.Context, path string, body any, h handler) error {
	data, err := encode(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	var res *http.Response
	if err := e.sdk.Post(ctx, path, data, &res, option.WithHeader("Accept", "text/event-stream, application/json")); err != nil {
		return err
	}
	events := ssestream.NewDecoder(res)
	defer events.Close()
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.Equal(data, []byte("[DONE]")) {
			return h.finish()
		}
		if more, err := h.event(data); err != nil || !more {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return err
	}
	return h.finish()
}

// encode is json.Marshal without HTML escaping, which would only lengthen prompts.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// maxOutput bounds the answer when the caller does not: a model's own limit may
// be larger than what an account or a window has room for.
const maxOutput = 32_000

func maxTokens(t model.Target, req model.Request) int {
	if req.MaxTokens > 0 {
		return req.MaxTokens
	}
	return min(t.Info.MaxTokens, maxOutput)
}

// thinks reports whether the request asks a reasoning model to reason.
func thinks(t model.Target, req model.Request) bool {
	return t.Info.Reasoning && req.Think != "" && req.Think != "off"
}

// dataURL is how these APIs take images.
func dataURL(mime, data string) string { return "data:" + mime + ";base64," + data }

// omittedImage stands for an image that the model cannot see.
const omittedImage = "[An image was left out: this model accepts text only.]"
