package ledger

import (
	"encoding/json"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/turn"
)

// A file is a header and then one JSON object per line. Lines say of what run
// they are by boot and n; the order of lines means nothing and a line may be
// there twice, so that files can be copied into each other while they grow.
const version = 1

const (
	typeHeader   = "openclaw-runs"
	typeAccepted = "accepted"
	typeEnded    = "ended"
	typeResponse = "response"
)

// record is any line. Times are Unix milliseconds, 0 for none.
type record struct {
	Type    string `json:"type"`
	Version int    `json:"version,omitempty"` // header
	PID     int    `json:"pid,omitempty"`     // header

	Boot string `json:"boot,omitempty"`
	N    uint64 `json:"n,omitempty"`

	// accepted, and ended too, which is why an end needs no acceptance beside it.
	Kind       Kind   `json:"kind,omitempty"`
	Owner      string `json:"owner,omitempty"`
	ID         run.ID `json:"runId,omitempty"`
	Origin     run.ID `json:"origin,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	At         int64  `json:"at,omitempty"` // of the acceptance, or the header

	Request *request `json:"request,omitempty"` // accepted

	State     State  `json:"state,omitempty"` // ended
	Reason    string `json:"reason,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`

	Response json.RawMessage `json:"response,omitempty"`
}

// request is the rest of a run.Request.
type request struct {
	AgentID           string       `json:"agentId,omitempty"`
	EventKey          string       `json:"eventKey,omitempty"`
	SessionID         string       `json:"sessionId,omitempty"`
	Prompt            string       `json:"prompt,omitempty"`
	Images            []turn.Block `json:"images,omitempty"`
	ExtraSystemPrompt string       `json:"extraSystemPrompt,omitempty"`
	Provider          string       `json:"provider,omitempty"`
	Model             string       `json:"model,omitempty"`
	Thinking          string       `json:"thinking,omitempty"`
	Verbose           string       `json:"verbose,omitempty"`
	TimeoutMs         int64        `json:"timeoutMs,omitempty"`
	Lane              string       `json:"lane,omitempty"`
	Channel           string       `json:"channel,omitempty"`
	NewSession        bool         `json:"newSession,omitempty"`
	Chat              bool         `json:"chat,omitempty"`
}

func encodeAccepted(at ref, a Accepted) ([]byte, error) {
	q := a.Request
	rec := record{Type: typeAccepted, Boot: at.boot, N: at.n, Kind: a.Kind, Owner: a.Owner,
		ID: q.ID, Origin: a.Origin, SessionKey: q.SessionKey, At: millis(a.At)}
	rec.Request = &request{
		AgentID: q.AgentID, EventKey: q.EventKey, SessionID: q.SessionID,
		Prompt: q.Prompt, Images: q.Images, ExtraSystemPrompt: q.ExtraSystemPrompt,
		Provider: q.Provider, Model: q.Model, Thinking: q.Thinking, Verbose: q.Verbose,
		TimeoutMs: q.Timeout.Milliseconds(), Lane: q.Lane, Channel: q.Channel, NewSession: q.NewSession, Chat: q.Chat,
	}
	return json.Marshal(rec)
}

func encodeEnded(at ref, p Past) ([]byte, error) {
	return json.Marshal(record{Type: typeEnded, Boot: at.boot, N: at.n, Kind: p.Kind, Owner: p.Owner,
		ID: p.ID, Origin: p.Origin, SessionKey: p.SessionKey, At: millis(p.AcceptedAt),
		State: p.Ending.State, Reason: p.Ending.Reason,
		StartedAt: millis(p.Ending.StartedAt), EndedAt: millis(p.Ending.EndedAt)})
}

func encodeResponse(at ref, response []byte) ([]byte, error) {
	return json.Marshal(record{Type: typeResponse, Boot: at.boot, N: at.n, Response: response})
}

// parse reads one line; false means that it is none of ours, or broken.
func parse(line []byte) (record, bool) {
	var rec record
	if json.Unmarshal(line, &rec) != nil {
		return record{}, false
	}
	switch {
	case rec.Type == typeHeader:
		return rec, rec.Version > 0
	case rec.Boot == "" || rec.N == 0:
		return record{}, false
	}
	switch rec.Type {
	case typeAccepted:
		return rec, rec.ID != "" && rec.Request != nil
	case typeEnded:
		return rec, rec.ID != "" && (rec.State == Finished || rec.State == Failed || rec.State == Aborted)
	case typeResponse:
		return rec, len(rec.Response) > 0
	}
	return record{}, false
}

func (r record) ref() ref { return ref{r.Boot, r.N} }

func (r record) accepted() Accepted {
	a := Accepted{Kind: r.Kind, Owner: r.Owner, Origin: r.Origin, At: moment(r.At)}
	a.Request = run.Request{ID: r.ID, SessionKey: r.SessionKey}
	if q := r.Request; q != nil {
		a.Request = run.Request{
			ID: r.ID, SessionKey: r.SessionKey, AgentID: q.AgentID, EventKey: q.EventKey, SessionID: q.SessionID,
			Prompt: q.Prompt, Images: q.Images, ExtraSystemPrompt: q.ExtraSystemPrompt,
			Provider: q.Provider, Model: q.Model, Thinking: q.Thinking, Verbose: q.Verbose,
			Timeout: time.Duration(q.TimeoutMs) * time.Millisecond, Lane: q.Lane, Channel: q.Channel,
			NewSession: q.NewSession, Chat: q.Chat,
		}
	}
	return a
}

func (r record) ending() Ending {
	return Ending{State: r.State, Reason: r.Reason, StartedAt: moment(r.StartedAt), EndedAt: moment(r.EndedAt)}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
