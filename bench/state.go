package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"openclaw/protocol"
)

func (w *world) sessions(name string) string {
	return filepath.Join(w.dir, "agents", "main", "sessions", name)
}

// fillSessions puts n sessions into the state folder: one turn is run for real, and
// its entry and its transcript are copied.
func (w *world) fillSessions(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	if err := w.start(ctx); err != nil {
		return err
	}
	s, err := w.open(64 << 10)
	if err != nil {
		return err
	}
	if _, _, err := s.turn("seed", "agent:main:main"); err != nil {
		return err
	}
	_ = s.Close() // the gateway ends now
	if err := w.stop(); err != nil {
		return err
	}
	data, err := os.ReadFile(w.sessions("sessions.json"))
	if err != nil {
		return err
	}
	var index map[string]map[string]any
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("read the sessions: %w", err)
	}
	entry := index["agent:main:main"]
	id, _ := entry["sessionId"].(string)
	script, err := os.ReadFile(w.sessions(id + ".jsonl"))
	if err != nil {
		return err
	}
	for i := range n {
		next := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		copied := map[string]any{}
		for k, v := range entry {
			copied[k] = v
		}
		copied["sessionId"] = next
		index[fmt.Sprintf("agent:main:old-%d", i)] = copied
		if err := os.WriteFile(w.sessions(next+".jsonl"), bytes.ReplaceAll(script, []byte(id), []byte(next)), 0o600); err != nil {
			return err
		}
	}
	if data, err = json.MarshalIndent(index, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(w.sessions("sessions.json"), data, 0o600)
}

const longSession = "00000000-0000-4000-8000-00000000cafe"

// fillHistory makes the main session's transcript n messages long.
func (w *world) fillHistory(n int) error {
	if err := os.MkdirAll(w.sessions(""), 0o700); err != nil {
		return err
	}
	at := time.Now().Add(-time.Hour)
	stamp := func(i int) time.Time { return at.Add(time.Duration(i) * time.Millisecond).UTC() }
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	const iso = "2006-01-02T15:04:05.000Z"
	err := lines.Encode(map[string]any{"type": "session", "version": 3, "id": longSession, "timestamp": at.UTC().Format(iso), "cwd": w.dir})
	parent := any(nil)
	for i := 0; i < n && err == nil; i++ {
		m := map[string]any{"role": "user", "timestamp": stamp(i).UnixMilli(), "content": []any{
			map[string]any{"type": "text", "text": fmt.Sprintf("Question %d: what do you make of the numbers that I sent you this morning?", i)}}}
		if i%2 == 1 {
			m = map[string]any{"role": "assistant", "timestamp": stamp(i).UnixMilli(), "api": "openai-completions", "provider": "mock", "model": "mock-1",
				"stopReason": "stop", "usage": map[string]any{"input": 1200, "output": 60, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1260},
				"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("Answer %d: they look right, apart from the second column, "+
					"where the total of March is lower than the sum of its weeks. I would ask whoever keeps the sheet before I used it.", i)}}}
		}
		id := fmt.Sprintf("%08x", i+1)
		err = lines.Encode(map[string]any{"type": "message", "id": id, "parentId": parent, "timestamp": stamp(i).Format(iso), "message": m})
		parent = id
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.sessions(longSession+".jsonl"), out.Bytes(), 0o600); err != nil {
		return err
	}
	index, err := json.Marshal(map[string]any{"agent:main:main": map[string]any{"sessionId": longSession, "updatedAt": time.Now().UnixMilli()}})
	if err != nil {
		return err
	}
	return os.WriteFile(w.sessions("sessions.json"), index, 0o600)
}

// historyTime is how long the end of a long conversation takes to get.
func historyTime(ctx context.Context, o *options, t *table) error {
	const n, messages, most = 100, 10_000, 200
	return with(ctx, o, "say hello", func(w *world) error { return w.fillHistory(messages) }, func(w *world) error {
		s, err := w.open(256 << 10)
		if err != nil {
			return err
		}
		defer s.Close()
		limit := most
		req := request("h", protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main", Limit: &limit})
		finish, err := w.watch(o, "history")
		if err != nil {
			return err
		}
		var series []time.Duration
		for range n {
			began := time.Now()
			payload, err := s.ask(req)
			if err != nil {
				return err
			}
			series = append(series, time.Since(began))
			if got := bytes.Count(payload, []byte(`"role":"`)); got != most {
				return fmt.Errorf("chat.history gave %d messages, want %d", got, most)
			}
		}
		used, _, err := finish()
		if err != nil {
			return err
		}
		t.add(row{work: "chat.history, 200 of 10,000 messages", reference: "34–61 ms", target: atMost(5, "ms"), value: ms(median(series)),
			note: each(used, n, "request") + ", " + spread(series)})
		return nil
	})
}
