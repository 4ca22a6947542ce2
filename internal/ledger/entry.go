package ledger

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"openclaw/internal/run"
)

// Entry is one run in the ledger. A nil *Entry is valid and does nothing.
type Entry struct {
	ledger *Ledger
	ref    ref

	// Guarded by Ledger.mu once the entry is committed.
	accepted Accepted // without its texts when it is this process's own
	ending   Ending
	since    time.Time // when the end became known, never in the future
	response []byte
}

// New makes the entry of a run and takes its number: runs that are lost come
// back in the order of these calls. It does no I/O; nothing is remembered before
// [Entry.Commit].
func (l *Ledger) New(a Accepted) *Entry {
	if l == nil {
		return nil
	}
	now := uint64(max(l.now().UnixMicro(), 0))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last+1, now)
	return &Entry{ledger: l, ref: ref{l.boot, l.last}, accepted: a}
}

// Commit returns when the acceptance is on the disk. After an error the run is
// not accepted. An entry is committed once.
func (e *Entry) Commit() error {
	if e == nil {
		return nil
	}
	l, id := e.ledger, e.accepted.Request.ID
	line, err := encodeAccepted(e.ref, e.accepted)
	if err != nil {
		return fmt.Errorf("record run %s: %w", id, err)
	}
	if !l.enter(e) {
		return fmt.Errorf("record run %s: %w", id, ErrClosed)
	}
	mark, err := l.journal.Write(line)
	if err == nil {
		err = l.journal.Sync(mark)
	}
	size := l.journal.Size()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		// The line may be in the file all the same; the next one leaves it out.
		l.drop(e)
		l.broken = true
		l.nudge()
		return fmt.Errorf("record run %s: %w", id, whyClosed(err))
	}
	// The run itself has them; here they would be held twice.
	e.accepted.Request = run.Request{ID: id, SessionKey: e.accepted.Request.SessionKey}
	if full(size, l.baseSize) {
		l.nudge()
	}
	return nil
}

// enter makes e known; false means that the ledger is closed.
func (l *Ledger) enter(e *Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.byRef[e.ref] = e
	l.byKey[e.key()] = e
	return true
}

// End records the one end of the run. It is in the file when End returns, and on
// the disk a second later at most. A second end is refused with [ErrEnded] and
// logged. After any other error the end is remembered here, and written with the
// next file.
func (e *Entry) End(x Ending) error {
	if e == nil {
		return nil
	}
	x.Reason = cut(x.Reason, maxReason)
	l := e.ledger
	l.mu.Lock()
	id := e.accepted.Request.ID
	switch {
	case l.closed:
		l.mu.Unlock()
		return fmt.Errorf("record the end of run %s: %w", id, ErrClosed)
	case e.ended():
		had := e.ending.State
		l.mu.Unlock()
		l.log.Error("a run ended twice; the second end is ignored", "run", id, "ended", string(had), "again", string(x.State))
		return fmt.Errorf("record the end of run %s: %w", id, ErrEnded)
	}
	l.remember(e, x)
	past := e.past()
	l.mu.Unlock()
	line, err := encodeEnded(e.ref, past)
	if err == nil {
		err = l.append(line)
	}
	if err != nil {
		return fmt.Errorf("record the end of run %s: %w", id, err)
	}
	return nil
}

// Keep stores the response that a repeated request gets, at most [MaxResponse]
// bytes of JSON. The run must have ended.
func (e *Entry) Keep(response []byte) error {
	if e == nil {
		return nil
	}
	l := e.ledger
	l.mu.Lock()
	id := e.accepted.Request.ID
	line, err := encodeResponse(e.ref, response)
	switch {
	case err != nil:
	case len(response) > MaxResponse:
		err = fmt.Errorf("%d bytes are too many (limit %d)", len(response), MaxResponse)
	case l.byRef[e.ref] != e || !e.ended():
		err = errors.New("the run is not among those that ended")
	case l.closed:
		err = ErrClosed
	default:
		l.responses += len(response) - len(e.response)
		e.response = response
		l.trim()
	}
	l.mu.Unlock()
	if err == nil {
		err = l.append(line)
	}
	if err != nil {
		return fmt.Errorf("keep the response of run %s: %w", id, err)
	}
	return nil
}

// Accepted returns what the run was accepted with; complete for one of
// [Ledger.Lost], without its texts for others.
func (e *Entry) Accepted() Accepted {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	return e.accepted
}

// append writes a line that needs no sync of its own.
func (l *Ledger) append(line []byte) error {
	mark, err := l.journal.Write(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsynced, l.broken = max(l.unsynced, mark), l.broken || err != nil
	l.nudge()
	return whyClosed(err)
}

func whyClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return ErrClosed
	}
	return err
}

// nudge tells Run that there is something to do; l.mu is held.
func (l *Ledger) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// The rest is called with Ledger.mu held.

func (e *Entry) ended() bool { return e.ending.State != "" }

func (e *Entry) key() key { return key{e.accepted.Kind, e.accepted.Owner, e.accepted.Key()} }

func (e *Entry) past() Past {
	a := e.accepted
	return Past{Kind: a.Kind, Owner: a.Owner, ID: a.Request.ID, Origin: a.Origin, SessionKey: a.Request.SessionKey,
		AcceptedAt: a.At, Ending: e.ending, Response: e.response}
}

// remember notes that e has ended and forgets what is too old or too much.
func (l *Ledger) remember(e *Entry, x Ending) {
	now := l.now()
	e.ending, e.since = x, x.EndedAt
	if e.since.After(now) {
		e.since = now
	}
	r := e.accepted.Request
	e.accepted.Request = run.Request{ID: r.ID, SessionKey: r.SessionKey}
	l.ended = append(l.ended, e)
	l.responses += len(e.response)
	l.trim()
}

// trim forgets ends.
func (l *Ledger) trim() {
	now := l.now()
	n := 0
	for _, e := range l.ended {
		if len(l.ended)-n <= maxRemembered && l.responses <= maxResponses && now.Sub(e.since) <= Retention {
			break
		}
		l.responses -= len(e.response)
		l.drop(e)
		n++
	}
	if n > 0 {
		clear(l.ended[:n])
		l.ended = l.ended[n:]
		l.forgotten = true
	}
}

// drop takes e out of the books.
func (l *Ledger) drop(e *Entry) {
	delete(l.byRef, e.ref)
	if l.byKey[e.key()] == e {
		delete(l.byKey, e.key())
	}
}

// cut shortens text to at most limit bytes of whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
