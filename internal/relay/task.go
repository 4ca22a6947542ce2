package relay

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"openclaw/byo"
)

// startTest answers POST /integrations/{id}/test: a task without any text goes to
// the assistant, and its answer, or that there is none, to the desktop.
func (c *call) startTest() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	if wait := c.limits.take("test "+b.ID, 6, time.Minute); wait > 0 {
		return answer{}, limited(byo.CodeRateLimited, "too many tests in a minute", wait)
	}
	id, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	now := c.now()
	due := now.Add(byo.TestWithin)
	task := byo.Task{
		ID: id, SessionID: "test-" + id, ActionType: byo.ActionConnectivityTest, Status: byo.TaskQueued,
		CreatedAt: byo.FormatTime(now),
	}
	data, err := json.Marshal(task)
	if err != nil {
		return answer{}, err
	}
	key := inKey(b.ID, msgTask, id)
	m := message{Integration: b.ID, ID: id, Kind: msgTest, State: byo.TaskQueued, Created: now.UnixNano(), Data: data}
	if err := create(c.req.Context(), c.store, Messages, key, m); err != nil {
		return answer{}, err
	}
	v := ref{Kind: refMessage, Integration: b.ID, ID: key, Desktop: b.Desktop, Deadline: millis(due)}
	if err := c.publishRef(Topic{ToAssistant, b.ID}, "message:"+key, v, byo.TestWithin); err != nil {
		return answer{}, err
	}
	return answer{http.StatusAccepted, byo.TestStarted{TestID: id}}, nil
}

// testReply answers POST /integrations/{id}/test-reply.
func (c *call) testReply() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	var req byo.TestReply
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	key := inKey(b.ID, msgTask, req.TestID)
	m, _, err := read[message](c.req.Context(), c.store, Messages, key)
	if err != nil {
		return answer{}, err
	}
	if m.Kind != msgTest {
		return answer{}, errNotFound
	}
	c.endTest(b.ID, b.Desktop, key, true, c.now().Sub(time.Unix(0, m.Created)))
	return ok(byo.CompletionAnswer{OK: true})
}

// endTest tells the desktop how a test ended, unless it has heard that.
func (r *Relay) endTest(integration, desktop, key string, success bool, took time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ended := false
	m, err := change(ctx, r.store, Messages, key, func(m *message, exists bool) error {
		if ended = exists && m.State != byo.TaskCompleted && m.State != byo.TaskFailed; !ended {
			return errKeep
		}
		if m.Done, m.State = true, byo.TaskFailed; success {
			m.State = byo.TaskCompleted
		}
		return nil
	})
	if err != nil || !ended {
		if err != nil {
			r.log.Error("a connectivity test was not ended", "integration", integration, "err", err)
		}
		return
	}
	if success {
		took = max(took, time.Millisecond)
	}
	data, err := json.Marshal(byo.IntegrationTest{
		EventType: byo.EventIntegrationTest, IntegrationID: integration, TestID: m.ID, OK: success, RoundTripMS: took.Milliseconds(),
	})
	if err == nil {
		err = r.publishRef(Topic{ToDesktop, desktop}, "test:"+key,
			ref{Kind: refEvent, Integration: integration, ID: key, Event: byo.EventIntegrationTest, Data: data}, statusKept)
	}
	if err != nil {
		r.log.Error("the end of a connectivity test was not published", "integration", integration, "err", err)
	}
}

// taskStatus answers POST /tasks/{task}/status.
func (c *call) taskStatus() (answer, error) {
	b, m, err := c.task()
	if err != nil {
		return answer{}, err
	}
	var req byo.TaskStatus
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	if m.Kind == msgTest { // its end is the answer
		return ok(byo.CompletionAnswer{OK: true})
	}
	if err := c.settle(inKey(b.ID, msgTask, m.ID), req.Status); err != nil {
		return answer{}, err
	}
	c.publishEvent(Topic{ToDesktop, b.Desktop}, byo.EventTaskUpdate, "task:"+inKey(b.ID, msgTask, m.ID)+":"+req.Status,
		byo.TaskUpdate{EventType: byo.EventTaskUpdate, IntegrationID: b.ID, TaskID: m.ID, Status: req.Status}, byo.EventsFor)
	return ok(byo.CompletionAnswer{OK: true})
}

// taskReply answers POST /tasks/{task}/reply. The text is in the sealed summary.
func (c *call) taskReply() (answer, error) {
	b, m, err := c.task()
	if err != nil {
		return answer{}, err
	}
	var req byo.TaskReply
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	e, err := byo.ParseEnvelope(req.EncryptedSummary)
	if err != nil {
		return answer{}, errPlaintext
	}
	if err := checkLegacy(e); err != nil {
		return answer{}, err
	}
	reply := byo.TaskReply{EncryptedSummary: req.EncryptedSummary} // the placeholder is of no use
	update := byo.TaskUpdate{
		EventType: byo.EventTaskUpdate, IntegrationID: b.ID, TaskID: m.ID, Status: byo.TaskCompleted, Reply: &reply,
	}
	out := message{ID: m.ID, Kind: msgTask, Event: byo.EventTaskUpdate, Session: m.Session}
	err = c.post(c.req.Context(), Topic{ToDesktop, b.Desktop}, outKey(b.ID, msgTask, m.ID), out, b.ID, update)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, byo.CompletionAnswer{OK: true}}, c.settle(inKey(b.ID, msgTask, m.ID), byo.TaskCompleted)
}

// task returns the task of the path, which must be the caller's.
func (c *call) task() (bond, message, error) {
	b, err := c.bond()
	if err != nil {
		return b, message{}, err
	}
	m, _, err := read[message](c.req.Context(), c.store, Messages, inKey(b.ID, msgTask, c.path("task")))
	return b, m, err
}

// postTask answers POST /integrations/{id}/tasks: a sealed task for a static_v1
// peer.
func (c *call) postTask() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	var req byo.Task
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := byo.CheckUUID("id", req.ID); err != nil {
		return answer{}, err
	}
	if err := byo.CheckSessionID(req.SessionID); err != nil {
		return answer{}, err
	}
	if err := c.checkTask(b, &req); err != nil {
		return answer{}, err
	}
	if err := c.flood(b); err != nil {
		return answer{}, err
	}
	req.Status, req.CreatedAt = byo.TaskQueued, byo.FormatTime(c.now())
	m := message{ID: req.ID, Kind: msgTask, Session: req.SessionID, State: byo.TaskQueued}
	if err := c.post(c.req.Context(), Topic{ToAssistant, b.ID}, inKey(b.ID, msgTask, req.ID), m, b.ID, req); err != nil {
		return answer{}, err
	}
	return answer{http.StatusAccepted, byo.TaskStatus{Status: byo.TaskQueued}}, nil
}

// checkTask wants every text of a task sealed.
func (c *call) checkTask(b bond, t *byo.Task) error {
	if b.Scheme != byo.StaticV1 {
		return byo.Errorf(byo.CodeEnvelopeMismatch, "tasks are for static_v1 peers; use chat frames")
	}
	if !t.BYOEncrypted || t.Title+t.RequestText != "" || t.EvidencePayload != nil || t.EncryptedRequest == "" ||
		t.ActionType != "" && !failCode.MatchString(t.ActionType) || t.ActionType == byo.ActionConnectivityTest {
		return errPlaintext
	}
	for _, text := range []string{t.EncryptedTitle, t.EncryptedRequest, t.EncryptedEvidence} {
		if text == "" {
			continue
		}
		e, err := byo.ParseEnvelope(text)
		if err != nil {
			return errPlaintext
		}
		if err := checkLegacy(e); err != nil {
			return err
		}
	}
	return nil
}

// providers answers GET /providers.
func (c *call) providers() (answer, error) { return ok(c.cfg.Registry.All()) }
