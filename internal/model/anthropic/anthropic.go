package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"openclaw/internal/model"
)

// Client makes models that share one HTTP client.
type Client struct{ http *http.Client }

// New returns a client that calls through hc.
func New(hc *http.Client) *Client { return &Client{http: hc} }

// Features asked for by header: tool arguments as they are written, and
// reasoning between tool calls.
const betas = "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14"

// subscriptionToken begins the tokens that stand for a person's subscription.
const subscriptionToken = "sk-ant-oat"

// stainless are headers by which the SDK describes the machine it runs on.
var stainless = []string{"X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-Os", "X-Stainless-Arch",
	"X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Retry-Count", "X-Stainless-Timeout"}

// Messages is the [model.Family] of the Messages API.
func (c *Client) Messages(t model.Target) (model.Model, error) {
	if !strings.HasPrefix(t.BaseURL, "http://") && !strings.HasPrefix(t.BaseURL, "https://") {
		return nil, fmt.Errorf("provider %s needs a baseUrl that starts with http:// or https://", t.Info.Ref.Provider)
	}
	// The path of the API holds the version; users write it into the address too.
	base := strings.TrimSuffix(strings.TrimRight(t.BaseURL, "/"), "/v1")
	opts := []option.RequestOption{
		option.WithBaseURL(base + "/"),
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
	opts = append(opts, credentials(t)...)
	for name, value := range t.Headers {
		opts = append(opts, option.WithHeader(name, value.Reveal()))
	}
	// A literal, because the SDK's constructor reads the environment.
	return &messages{target: t, sdk: sdk.Client{Options: opts}}, nil
}

// credentials sends API keys as X-Api-Key and everything else as a bearer token.
func credentials(t model.Target) []option.RequestOption {
	key := t.Key.Reveal()
	features := betas
	subscription := strings.HasPrefix(key, subscriptionToken)
	if subscription {
		features += ",oauth-2025-04-20"
	}
	opts := []option.RequestOption{option.WithHeader("Anthropic-Beta", features)}
	switch {
	case key == "":
	case t.Bearer || subscription:
		opts = append(opts, option.WithAuthToken(key))
	default:
		opts = append(opts, option.WithAPIKey(key))
	}
	return opts
}

type messages struct {
	target model.Target
	sdk    sdk.Client
}

// Stream implements [model.Model].
func (m *messages) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		s := &stream{target: m.target, answer: model.NewAnswer(), yield: yield}
		if err := m.call(ctx, newRequest(m.target, req), s); err != nil && !s.left {
			yield(nil, m.target.Wrap(ctx, err))
		}
	}
}

// call posts a request and feeds the events of the answer to s.
func (m *messages) call(ctx context.Context, req request, s *stream) error {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // it would only lengthen prompts
	if err := enc.Encode(req); err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	var res *http.Response
	if err := m.sdk.Post(ctx, "v1/messages", body.Bytes(), &res); err != nil {
		return err
	}
	events := ssestream.NewDecoder(res)
	defer events.Close()
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if len(data) == 0 {
			continue
		}
		if more, err := s.event(data); err != nil || !more {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return err
	}
	return s.finish()
}
