package relayclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"openclaw/byo"
)

const (
	callTimeout = 20 * time.Second
	maxAnswer   = 4 << 20
)

// Client calls the API of one relay.
type Client struct {
	// Base is the address of the relay, without [byo.BasePath]. It must pass
	// [byo.CheckURL].
	Base string
	// Token returns the bearer token of this moment; nil for calls that need none.
	Token func() byo.Secret
	// HTTP sends the requests; default [NewHTTP] without a pin. It must not follow
	// redirects, so that the token stays here.
	HTTP *http.Client
}

// NewHTTP returns a client for a relay: TLS 1.2 or newer, no redirects. pin, when it is
// not empty, is the SHA-256 of the relay's certificate in hex, which then is all that
// counts about it.
func NewHTTP(pin string) *http.Client {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if pin != "" {
		pin = strings.ToLower(strings.ReplaceAll(pin, ":", ""))
		conf.InsecureSkipVerify = true // the pin below is the check
		conf.VerifyPeerCertificate = func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 {
				return errors.New("the relay shows no certificate")
			}
			if sum := sha256.Sum256(raw[0]); hex.EncodeToString(sum[:]) != pin {
				return errors.New("the relay's certificate is not the pinned one")
			}
			return nil
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: conf, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 60 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Call sends in as JSON, nothing when it is nil, and decodes the answer into out,
// which may be nil. A refusal is a *[byo.Error]; its code is that of the answer, or one
// with the same HTTP status.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+byo.MaxWait)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	resp, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the relay's answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return refusal(resp, data)
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	if len(data) > maxAnswer {
		return errors.New("the relay's answer is too large")
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the relay's answer: %w", err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Base, "/")+byo.BasePath+path, body)
	if err != nil {
		return nil, fmt.Errorf("address of the relay: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != nil {
		req.Header.Set("Authorization", "Bearer "+string(c.Token()))
	}
	client := c.HTTP
	if client == nil {
		client = standard
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the relay: %w", err)
	}
	return resp, nil
}

var standard = NewHTTP("")

// refusal turns an answer into an error.
func refusal(resp *http.Response, data []byte) error {
	var body byo.ErrorBody
	e := &body.Error
	if json.Unmarshal(data, &body) != nil || e.Code == "" {
		*e = byo.Error{Code: codeOf(resp.StatusCode), Message: "the relay answers " + resp.Status}
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 && e.RetryAfterMS == 0 {
		e.RetryAfterMS = int64(s) * 1000
	}
	return e
}

func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return byo.CodeInvalidRequest
	case http.StatusUnauthorized:
		return byo.CodeUnauthorized
	case http.StatusForbidden:
		return byo.CodeForbidden
	case http.StatusNotFound:
		return byo.CodeNotFound
	case http.StatusRequestEntityTooLarge:
		return byo.CodeTooLarge
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly:
		return byo.CodeRateLimited
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return byo.CodeStorageUnavailable
	}
	if status >= 500 {
		return byo.CodeInternal
	}
	return byo.CodeInvalidRequest
}

// Code returns the code of a refusal, "" for any other error.
func Code(err error) string {
	var e *byo.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Gone reports whether err says that the token or what it belongs to no longer exists:
// the pairing is over and trying again is of no use.
func Gone(err error) bool {
	code := Code(err)
	return code == byo.CodeUnauthorized || code == byo.CodeNotFound
}

// Retry calls do until it succeeds, is refused for good, or until is past: up to eight
// times with 250 ms, 500 ms, 1 s … between them, or as long as the relay asks for.
func Retry(ctx context.Context, until time.Time, do func(context.Context) error) error {
	for n := 0; ; n++ {
		err := do(ctx)
		var e *byo.Error
		refused := errors.As(err, &e)
		if err == nil || refused && !byo.Retryable(e.Code) || n == 7 || ctx.Err() != nil {
			return err
		}
		wait := 250 * time.Millisecond << n
		if refused {
			wait = max(wait, time.Duration(e.RetryAfterMS)*time.Millisecond)
		}
		if time.Now().Add(wait).After(until) || !Sleep(ctx, wait) {
			return err
		}
	}
}

// Sleep waits; false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
