package model

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxErrorBody bounds how much of an error answer is read.
const maxErrorBody = 64 << 10

// CheckResponse returns nil for an answer that is a stream of events, otherwise
// an [*Error] that says what it is instead. In the latter case the body is read
// and closed.
func CheckResponse(t Target, res *http.Response) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	if ok && media != "text/html" && media != "application/json" {
		return nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && res.Request != nil && res.Request.Context().Err() != nil {
		return t.Wrap(res.Request.Context(), err)
	}
	if media == "text/html" {
		body = nil
	}
	f := ParseFailure(res.StatusCode, body)
	if ok {
		// An error dressed as a success, or something that is no stream.
		if f.Status = 0; f.Message != "" {
			return t.Fail(f)
		}
		return &Error{Kind: KindBadReply, Ref: t.Info.Ref,
			Text: fmt.Sprintf("%s answered with something that is no model reply. Check the baseUrl of the provider.", t.Info.Ref.Provider)}
	}
	if d := retryAfter(res.Header, time.Now()); d > 0 {
		f.RetryAfter = d
	}
	return t.Fail(f)
}

// retryAfter reads how long the server asks to wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// seconds is s as a duration, bounded to a day so that it cannot overflow.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 24*60*60) * float64(time.Second))
}

// Fail turns what a server said into an [*Error].
func (t Target) Fail(f Failure) *Error {
	kind := f.Kind()
	return &Error{Kind: kind, Status: f.Status, RetryAfter: f.RetryAfter, Ref: t.Info.Ref,
		Text: t.describe(kind, f), Efforts: efforts(f.Message)}
}

// describe is the text of a failure for people: our words, with the essence of
// the vendor's message where it helps.
func (t Target) describe(kind Kind, f Failure) string {
	p, id := t.Info.Ref.Provider, t.Info.Ref.ID
	said := strings.ToLower(f.Message)
	switch kind {
	case KindAuth:
		where := "Check its API key."
		if t.KeySource != "" {
			where = "Check " + t.KeySource + "."
		}
		return withReason(p+" refused the credentials", f.Message) + " " + where
	case KindBilling:
		return withReason(p+" reports a billing problem", f.Message) + " Check the balance of the account."
	case KindRateLimit:
		return withReason(p+" limits how often it may be asked", f.Message) + " Try again in a while."
	case KindOverloaded:
		return p + " is overloaded at the moment. Please try again shortly."
	case KindServer:
		return withReason(p+" had an internal problem", f.Message)
	case KindTimeout:
		return p + " took too long to answer."
	case KindOverflow:
		return withReason("The conversation no longer fits the context window of "+id, f.Message)
	case KindNotFound:
		return withReason(fmt.Sprintf("%s does not offer %q at this address", p, id), f.Message) + " Check the model id and the baseUrl."
	}
	switch {
	case containsAny(said, "roles must alternate", "incorrect role", "role information", "alternate between"):
		return "The messages of this conversation stand in an order that " + id + " refuses. Start a new session with /new."
	case containsAny(said, "image exceeds", "image too large", "image size", "image dimensions"):
		return withReason("An image is too large for "+id, f.Message)
	case f.Status != 0:
		return withReason(p+" did not accept the request", f.Message)
	}
	return withReason(p+" broke off its answer", f.Message)
}

// withReason joins a sentence and the vendor's reason, if there is one.
func withReason(sentence, reason string) string {
	if reason = strings.TrimRight(reason, ". "); reason == "" {
		return sentence + "."
	}
	if strings.HasSuffix(reason, "?") || strings.HasSuffix(reason, "!") || strings.HasSuffix(reason, "…") {
		return sentence + ": " + reason
	}
	return sentence + ": " + reason + "."
}

// Declined is the failure of a model that answered nothing because the request
// goes against its rules.
func (t Target) Declined() *Error {
	return &Error{Kind: KindBadReply, Ref: t.Info.Ref, Text: t.Info.Ref.ID + " declined to answer this request."}
}

// errStalled ends a call whose server went silent.
var errStalled = errors.New("no data from the server for too long")

// ErrTruncated says that a stream ended before its answer did.
var ErrTruncated = errors.New("the answer ends early")

// ErrNonsense says that a stream holds something that is no part of an answer.
var ErrNonsense = errors.New("not a model reply")

// Wrap turns an error of a call into an [*Error] of the right kind. An error
// that is one already keeps its kind. The cause is kept only where it cannot
// hold credentials or bodies.
func (t Target) Wrap(ctx context.Context, err error) *Error {
	p := t.Info.Ref.Provider
	fail := func(kind Kind, text string, cause error) *Error {
		return &Error{Kind: kind, Ref: t.Info.Ref, Text: text, Err: cause}
	}
	var e *Error
	if ctx.Err() != nil {
		return fail(KindAborted, "The request was cancelled.", context.Cause(ctx))
	}
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, errStalled) {
		return fail(KindTimeout, p+" stopped sending before the answer was complete.", errStalled)
	}
	if kind, text, ok := networkFailure(p, err); ok {
		return fail(kind, text, innermost(err))
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	if errors.Is(err, ErrNonsense) || errors.As(err, &syntax) || errors.As(err, &typ) || strings.Contains(err.Error(), "token too long") {
		return fail(KindBadReply, p+" answered with something that is no model reply.", ErrNonsense)
	}
	return fail(KindUnknown, "The call of "+p+" failed.", nil)
}

// networkFailure recognises what can go wrong between us and the server.
func networkFailure(p string, err error) (Kind, string, bool) {
	var dns *net.DNSError
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var op *net.OpError
	var addr *url.Error
	switch {
	case errors.Is(err, ErrTruncated), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return KindNetwork, "The connection to " + p + " broke off before the answer was complete.", true
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindNetwork, p + " cannot be reached: nothing listens at its address.", true
	case errors.As(err, &dns):
		return KindNetwork, fmt.Sprintf("%s cannot be reached: the name %s was not found.", p, dns.Name), true
	case errors.As(err, &cert), errors.As(err, &unknown):
		return KindNetwork, p + " cannot be reached safely: its certificate is not trusted.", true
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return KindTimeout, p + " took too long to answer.", true
	case errors.As(err, &op), errors.As(err, &addr), strings.Contains(err.Error(), "http2:"):
		return KindNetwork, "The connection to " + p + " failed.", true
	}
	return "", "", false
}

// innermost drops the wrappers that carry addresses.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
