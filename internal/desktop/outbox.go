package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

// errRefused is an assistant's final no.
var errRefused = errors.New("the assistant does not take it")

// line is the way to one assistant. send returns nil when the assistant has it, an
// error that wraps errRefused when it never will, any other when it may later.
type line interface {
	send(ctx context.Context, in *byo.Incoming) error
}

// outgoing is something said that the assistant has not acknowledged, kept under its
// task id.
type outgoing struct {
	Assistant string       `json:"assistant"`
	In        byo.Incoming `json:"in"`
	At        time.Time    `json:"at"`
}

// maxOutgoing bounds what waits for assistants that are away.
const maxOutgoing = 1024

// outbox delivers what was said, each thread of a session in order: what comes next
// waits until the one before was taken, or never will be.
type outbox struct {
	table *disk.Table
	lines func(assistant string) (line, bool)
	// ended is told how a delivery ended.
	ended func(o *outgoing, err error)
	log   *slog.Logger
	now   func() time.Time

	ctx   context.Context
	group sync.WaitGroup

	mu      sync.Mutex
	running bool
	queues  map[string][]string // task ids, by assistant and session
	waiting int
}

func openOutbox(path string) (*outbox, error) {
	table, err := disk.OpenTable(path)
	if err != nil {
		return nil, err
	}
	o := &outbox{table: table, queues: map[string][]string{}}
	for id, raw := range table.All() {
		var row outgoing
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), table.Close())
		}
		key := row.Assistant + "/" + row.In.SessionID
		o.queues[key] = append(o.queues[key], id)
		o.waiting++
	}
	return o, nil
}

// run delivers until ctx ends.
func (o *outbox) run(ctx context.Context) error {
	o.mu.Lock()
	o.ctx, o.running = ctx, true
	for key := range o.queues {
		o.group.Go(func() { o.work(key) })
	}
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock()
	o.running = false
	o.mu.Unlock()
	o.group.Wait()
	return o.table.Close()
}

// errFull says that too much waits already.
var errFull = errors.New("1024 messages wait for assistants that do not answer: unpair them or wait")

// put keeps what was said; it is on the disk when put returns.
func (o *outbox) put(row outgoing) error {
	data, err := json.Marshal(row)
	if err != nil {
		return err
	}
	o.mu.Lock()
	full := o.waiting >= maxOutgoing
	if !full {
		o.waiting++
	}
	o.mu.Unlock()
	if full {
		return errFull
	}
	err = o.table.Apply(disk.Change{Key: row.In.TaskID, Value: data})
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.waiting--
		return err
	}
	key := row.Assistant + "/" + row.In.SessionID
	_, alive := o.queues[key]
	o.queues[key] = append(o.queues[key], row.In.TaskID)
	if !alive && o.running {
		o.group.Go(func() { o.work(key) })
	}
	return nil
}

func (o *outbox) work(key string) {
	for o.ctx.Err() == nil {
		o.mu.Lock()
		if len(o.queues[key]) == 0 {
			delete(o.queues, key)
			o.mu.Unlock()
			return
		}
		id := o.queues[key][0]
		o.mu.Unlock()
		raw, _ := o.table.Get(id)
		var row outgoing
		if json.Unmarshal(raw, &row) == nil {
			err := o.deliver(&row)
			if o.ctx.Err() != nil && err != nil {
				return // it goes on after the next start
			}
			o.ended(&row, err)
		}
		if err := o.table.Apply(disk.Change{Key: id}); err != nil {
			o.log.Warn("a delivered message stays on the disk", "task", id, "err", err)
		}
		o.mu.Lock()
		o.queues[key] = o.queues[key][1:]
		o.waiting--
		o.mu.Unlock()
	}
}

// deliver tries until the assistant answers.
func (o *outbox) deliver(row *outgoing) error {
	wait := 250 * time.Millisecond
	for {
		line, ok := o.lines(row.Assistant)
		if !ok {
			return fmt.Errorf("%w: it is no longer paired", errRefused)
		}
		err := line.send(o.ctx, &row.In)
		if err == nil || errors.Is(err, errRefused) || o.ctx.Err() != nil {
			return err
		}
		o.log.Debug("an assistant did not take a message yet", "assistant", row.Assistant, "err", err)
		if !relayclient.Sleep(o.ctx, wait) {
			return err
		}
		wait = min(2*wait, 30*time.Second)
	}
}

func isRefused(err error) bool { return errors.Is(err, errRefused) }
