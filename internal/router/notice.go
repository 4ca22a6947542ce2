package router

import (
	"slices"
	"strings"
	"sync"
	"time"

	"openclaw/internal/chat"
)

const (
	// maxNotices bounds what waits for one session; the oldest goes first.
	maxNotices = 20
	// maxNoticeLen bounds one system event, in characters.
	maxNoticeLen = 4000
)

// notices are the system events that sessions have not heard of yet. They live in
// memory only. See docs/runtime.md#system-events.
type notices struct {
	mu    sync.Mutex
	byKey map[string]*noticeQueue
}

// noticeQueue is what waits for one session. An empty one is removed.
type noticeQueue struct {
	items []noticeItem
	// topic is the topic of the last event that was queued.
	topic string
}

type noticeItem struct {
	text string
	at   time.Time
}

// Notify queues a system event for a session: it stands before the session's
// next prompt. An event that repeats the one before it is dropped. Topic names
// what the event is about and may be empty. It reports false for a blank text or
// key.
func (rt *Router) Notify(sessionKey, text, topic string) bool {
	key, text := rt.canonical(sessionKey), strings.TrimSpace(text)
	if key == "" || key == chat.UnknownKey || text == "" {
		return false
	}
	if runes := []rune(text); len(runes) > maxNoticeLen {
		text = string(runes[:maxNoticeLen-1]) + "…"
	}
	n := &rt.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	q := n.byKey[key]
	if q == nil {
		q = &noticeQueue{}
		if n.byKey == nil {
			n.byKey = map[string]*noticeQueue{}
		}
		n.byKey[key] = q
	}
	q.topic = topic
	if last := len(q.items) - 1; last >= 0 && q.items[last].text == text {
		return true
	}
	q.items = append(q.items, noticeItem{text, rt.now()})
	if extra := len(q.items) - maxNotices; extra > 0 {
		q.items = slices.Delete(q.items, 0, extra)
	}
	return true
}

// Notices returns the texts that wait for a session, oldest first, and the topic
// of the last one.
func (rt *Router) Notices(sessionKey string) (texts []string, topic string) {
	n := &rt.notices
	key := rt.canonical(sessionKey)
	n.mu.Lock()
	defer n.mu.Unlock()
	q := n.byKey[key]
	if q == nil {
		return nil, ""
	}
	for _, it := range q.items {
		texts = append(texts, it.text)
	}
	return texts, q.topic
}

// take removes and returns what waits for a session.
func (n *notices) take(key string) []noticeItem {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := n.byKey[key]
	if q == nil {
		return nil
	}
	delete(n.byKey, key)
	return q.items
}

// withNotices puts what the session has not heard of yet before a prompt.
func (rt *Router) withNotices(key, prompt string) string {
	if key == "" {
		return prompt
	}
	items := rt.notices.take(key)
	if len(items) == 0 {
		return prompt
	}
	zone := rt.zone(rt.cfg.Config())
	var lines []string
	for _, it := range items {
		if text := worthTelling(it.text); text != "" {
			lines = append(lines, chat.Notice(text, it.at.In(zone)))
		}
	}
	return chat.AddNotices(prompt, lines)
}

// worthTelling leaves out what means nothing to a model: the machinery of
// heartbeats, and when somebody touched the keyboard of a device last.
func worthTelling(text string) string {
	lower := strings.ToLower(text)
	for _, noise := range []string{"reason periodic", "heartbeat poll", "heartbeat wake", "read heartbeat.md"} {
		if strings.Contains(lower, noise) {
			return ""
		}
	}
	if !strings.HasPrefix(text, "Node:") {
		return text
	}
	parts := strings.Split(text, " · ")
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(strings.ToLower(p), "last input") })
	return strings.Join(parts, " · ")
}

// canonical is the stored form of a session key.
func (rt *Router) canonical(sessionKey string) string {
	c := rt.cfg.Config()
	return chat.CanonicalKey(sessionKey, c.DefaultAgentID(), c.Session.Global())
}

// MainSession returns the key of the default agent's main session, or the one
// session that all share.
func (rt *Router) MainSession() string {
	return rt.canonical(chat.MainKey(rt.cfg.Config().DefaultAgentID()))
}
