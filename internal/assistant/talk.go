package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
)

const (
	doneFor     = 10 * time.Minute // how long a finished task is known by its id
	maxDone     = 1024             // finished tasks known by their id
	maxWaiting  = 256              // open tasks of one pairing
	giveUpAfter = 30 * time.Minute // of an answer that cannot be delivered
)

// Errors of [Talk.Accept].
var (
	// ErrInFlight says that the same task is being taken right now.
	ErrInFlight = errors.New("the task is being taken")
	// ErrBusy says that too much waits already.
	ErrBusy = errors.New("too many tasks are waiting")
)

// Route is where the answers to a desktop go: to its callback listener, over the
// relay, or, when it is zero, to whoever reads the event stream.
type Route struct {
	URL   string     `json:"url,omitempty"`
	Token byo.Secret `json:"token,omitempty"`
	Relay bool       `json:"relay,omitempty"`
}

// RouteOf returns the route that a message of the direct topology asks for.
func RouteOf(in *byo.Incoming) Route {
	if in.Callback == nil {
		return Route{}
	}
	return Route{URL: in.Callback.URL, Token: in.Callback.Token}
}

// Courier delivers one callback. It returns nil when the desktop has it, an error
// that wraps [ErrRefused] when the desktop never will, and any other error when it is
// worth another try.
type Courier func(ctx context.Context, to Route, c *byo.Callback) error

// ErrRefused is a desktop's final no.
var ErrRefused = errors.New("the desktop refuses it")

// TalkConfig joins a [Talk] to the rest.
type TalkConfig struct {
	Path    string // of the file that keeps what is under way
	Agent   Agent
	Courier Courier

	Log *slog.Logger // default: discarded
	Now func() time.Time
}

// Talk is the conversation side of one pairing: what a desktop says is on the disk
// before it is acknowledged, goes to the agent in order, and every answer is on the
// disk before it is delivered. After a crash it goes on where it was: a turn that did
// not end is begun again under the same id, an answer keeps its message id.
type Talk struct {
	cfg   TalkConfig
	now   func() time.Time
	log   *slog.Logger
	table *disk.Table
	ctx   context.Context // of Run
	group sync.WaitGroup

	// Events are the answers of sessions without a callback.
	Events *Events

	mu       sync.Mutex
	running  bool
	arriving map[string]bool      // task ids that are being written
	open     int                  // tasks that did not end
	threads  map[threadID]*thread // with work
	boxes    map[string]*box      // with something to deliver, by session
	done     []finished           // oldest first
}

type threadID struct {
	session string
	kind    Kind
}

// thread is the queue of one thread; its worker lives while there is work.
type thread struct {
	id      threadID
	waiting []string // task ids
}

type finished struct {
	id string
	at time.Time
}

// task is a row of the table, under t/<task id>.
type task struct {
	In      *byo.Incoming `json:"in,omitempty"` // nil when it is done
	To      Route         `json:"to"`
	At      time.Time     `json:"at"`
	Context string        `json:"context,omitempty"`
	Begun   int           `json:"begun,omitempty"`
	Said    int           `json:"said,omitempty"` // messages in the outbox or delivered
	Quiet   bool          `json:"quiet,omitempty"`
	Done    bool          `json:"done,omitempty"`
}

// outgoing is a row under o/<message id>.
type outgoing struct {
	To       Route        `json:"to"`
	Callback byo.Callback `json:"callback"`
	At       time.Time    `json:"at"`
}

// OpenTalk reads what an earlier process left.
func OpenTalk(cfg TalkConfig) (*Talk, error) {
	table, err := disk.OpenTable(cfg.Path)
	if err != nil {
		return nil, err
	}
	t := &Talk{cfg: cfg, now: cfg.Now, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), table: table,
		arriving: map[string]bool{}, threads: map[threadID]*thread{}, boxes: map[string]*box{}}
	if t.now == nil {
		t.now = time.Now
	}
	t.Events = newEvents(t.now, t.log)
	for key, value := range table.All() {
		if err := t.load(key, value); err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: row %s: %w", cfg.Path, key, err), table.Close())
		}
	}
	return t, nil
}

func (t *Talk) load(key string, value json.RawMessage) error {
	kind, id, _ := strings.Cut(key, "/")
	switch kind {
	case "t":
		var row task
		if err := json.Unmarshal(value, &row); err != nil {
			return err
		}
		if row.Done || row.In == nil {
			t.done = append(t.done, finished{id, row.At})
			return nil
		}
		t.open++
		t.enqueue(threadOf(row.In), id)
	case "o":
		var row outgoing
		if err := json.Unmarshal(value, &row); err != nil {
			return err
		}
		t.box(row.Callback.SessionID).add(id)
	}
	return nil
}

// Run works until ctx ends, and returns when everything it started has ended. What is
// not finished then goes on after the next start.
func (t *Talk) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	t.mu.Lock()
	t.ctx, t.running = ctx, true
	for _, th := range t.threads {
		t.group.Go(func() { t.work(th) })
	}
	for session, b := range t.boxes {
		t.group.Go(func() { t.deliver(session, b) })
	}
	t.mu.Unlock()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.tidy()
			continue
		case <-ctx.Done():
		}
		t.mu.Lock()
		t.running = false
		t.mu.Unlock()
		cancel()
		t.Events.close()
		t.group.Wait()
		return t.table.Close()
	}
}

// tidy forgets finished tasks and old events.
func (t *Talk) tidy() {
	t.mu.Lock()
	var old []disk.Change
	for len(t.done) > 0 && (len(t.done) > maxDone || t.now().Sub(t.done[0].at) > doneFor) {
		old = append(old, disk.Change{Key: "t/" + t.done[0].id})
		t.done = t.done[1:]
	}
	t.mu.Unlock()
	for _, key := range t.Events.expire() {
		old = append(old, disk.Change{Key: "o/" + key})
	}
	if err := t.table.Apply(old...); err != nil && len(old) > 0 {
		t.log.Warn("old tasks stay on the disk for now", "err", err)
	}
}

// Accept takes what a desktop said. When it returns without error it is on the disk.
// replay says that it was taken before, so that nothing new happens.
func (t *Talk) Accept(in byo.Incoming, to Route) (answer byo.IncomingAnswer, replay bool, err error) {
	answer = byo.IncomingAnswer{Status: "accepted", TaskID: in.TaskID}
	quiet := in.Reason == byo.ReasonSystemPrelude
	if in.Reason == byo.ReasonTranscriptChunk && !in.Payload.Final() {
		answer.Dispatched = new(bool)
		return answer, false, nil // nothing to keep: the final text follows
	}
	if replay, err = t.arrive(in.TaskID, quiet); err != nil || replay {
		return answer, replay, err
	}
	row := task{In: &in, To: to, At: t.now()}
	in.Callback = nil // To has it
	changes := []disk.Change{put("r/"+in.SessionID, to)}
	if quiet {
		row.In, row.Done = nil, true
		changes = append(changes, put("p/"+in.SessionID, in.Payload.Text))
	}
	err = t.table.Apply(append(changes, put("t/"+in.TaskID, row))...)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.arriving, in.TaskID)
	switch {
	case err != nil && !quiet:
		t.open--
	case err == nil && quiet:
		t.done = append(t.done, finished{in.TaskID, row.At})
	case err == nil:
		t.enqueue(threadOf(&in), in.TaskID)
	}
	return answer, false, err
}

// arrive reserves the id of a task.
func (t *Talk) arrive(id string, quiet bool) (replay bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.arriving[id] {
		return false, ErrInFlight
	}
	if _, known := t.table.Get("t/" + id); known {
		return true, nil
	}
	if !quiet {
		if t.open >= maxWaiting {
			return false, ErrBusy
		}
		t.open++
	}
	t.arriving[id] = true
	return false, nil
}

// Say adds a message nobody asked for to a session the desktop has written in.
func (t *Talk) Say(sessionID, text string) error {
	id, err := byo.NewID(nil)
	if err != nil {
		return err
	}
	var to Route
	if raw, ok := t.table.Get("r/" + sessionID); !ok {
		return fmt.Errorf("session %q is not known here: the desktop writes first", sessionID)
	} else if err := json.Unmarshal(raw, &to); err != nil {
		return err
	}
	var rows []outgoing
	for i, part := range split(text, byo.MaxReplyPart) {
		rows = append(rows, outgoing{to, byo.Callback{SessionID: sessionID, TaskID: id, Status: byo.StatusMessage, MessageID: messageID(id, i), ReplyText: part}, t.now()})
	}
	return t.post(rows)
}

// post writes answers and has them delivered.
func (t *Talk) post(rows []outgoing, also ...disk.Change) error {
	changes := also
	for _, row := range rows {
		changes = append(changes, put("o/"+row.Callback.MessageID, row))
	}
	if err := t.table.Apply(changes...); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range rows {
		t.box(row.Callback.SessionID).add(row.Callback.MessageID)
	}
	return nil
}

func threadOf(in *byo.Incoming) threadID {
	if in.Reason == byo.ReasonTranscriptChunk {
		return threadID{in.SessionID, Reasoning}
	}
	if _, insights := byo.SplitSession(in.SessionID); insights {
		return threadID{in.SessionID, Reasoning}
	}
	return threadID{in.SessionID, Chat}
}

func messageID(task string, i int) string { return fmt.Sprintf("%s:msg:%d", task, i) }

func put(key string, value any) disk.Change {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("assistant: encode %T: %v", value, err)) // our own types always encode
	}
	return disk.Change{Key: key, Value: data}
}

// split cuts text into parts of at most n characters, at a line or a word when there
// is one near the end.
func split(text string, n int) []string {
	var parts []string
	for {
		end, count := len(text), 0
		for i := range text {
			if count == n {
				end = i
				break
			}
			count++
		}
		if end == len(text) {
			return append(parts, text)
		}
		if i := strings.LastIndexAny(text[:end], "\n "); i > end/2 {
			end = i + 1
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
}
