package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// socket is one connection of a play. It keeps every frame until a recorded one
// is matched with it.
type socket struct {
	name    string
	ws      *websocket.Conn
	methods map[string]string // request id → method; owned by the player
	nonce   string            // owned by the player

	mu      sync.Mutex
	frames  []*Frame
	ended   bool
	code    int
	reason  string
	err     error
	changed chan struct{} // closed and replaced at each change
	reader  sync.WaitGroup
}

// dialPatiently dials a gateway that may be about to restart.
func dialPatiently(ctx context.Context, url, name string, header http.Header) (*socket, error) {
	deadline := time.Now().Add(patience)
	for {
		s, err := dial(ctx, url, name, header)
		if err == nil || !restarting(err) || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// restarting reports whether err is what a gateway between two lives answers.
func restarting(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

// dial opens a connection and starts to collect.
func dial(ctx context.Context, url, name string, header http.Header) (*socket, error) {
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", name, err)
	}
	ws.SetReadLimit(64 << 20)
	s := &socket{name: name, ws: ws, methods: map[string]string{}, changed: make(chan struct{})}
	s.reader.Go(s.read)
	return s, nil
}

func (s *socket) read() {
	for {
		_, data, err := s.ws.Read(context.Background())
		if err != nil {
			s.end(err)
			return
		}
		body, err := decode(data)
		s.update(func() {
			if err != nil {
				s.err = err
				return
			}
			s.frames = append(s.frames, &Frame{body: body})
		})
	}
}

func (s *socket) end(err error) {
	s.update(func() {
		s.ended, s.code, s.reason = true, 1006, err.Error()
		var ce websocket.CloseError
		if errors.As(err, &ce) {
			s.code, s.reason = int(ce.Code), ce.Reason
		}
	})
}

func (s *socket) update(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until found returns true and reports whether it did in time.
// Found runs with the frames locked.
func (s *socket) await(limit time.Duration, found func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		if found() {
			s.mu.Unlock()
			return true
		}
		changed, ended := s.changed, s.ended
		s.mu.Unlock()
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// candidates returns the unused frames whose key fits, oldest first. Called with
// the frames locked.
func (s *socket) candidates(fits func(key string) bool) (at []int) {
	for i, f := range s.frames {
		if f.Key == "" {
			*f = describe(f.body, s.methods)
		}
		if !f.used && fits(f.Key) {
			at = append(at, i)
		}
	}
	return at
}

// told reports whether a recorded frame whose key fits was matched already.
func (s *socket) told(fits func(key string) bool) bool {
	return slices.ContainsFunc(s.all(), func(f *Frame) bool { return f.used && fits(f.Key) })
}

// left returns the frames that no recorded one was matched with.
func (s *socket) left() []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Frame
	for _, f := range s.frames {
		if f.Key == "" {
			*f = describe(f.body, s.methods)
		}
		if !f.used {
			out = append(out, f)
		}
	}
	return out
}

// all returns every frame in the order of arrival.
func (s *socket) all() []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

func (s *socket) send(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.ws.Write(ctx, websocket.MessageText, []byte(text))
}

// close says goodbye and waits for the reader.
func (s *socket) close(code int) {
	_ = s.ws.Close(websocket.StatusCode(code), "") // it may have ended already
	s.reader.Wait()
}

// closing returns how the connection ended.
func (s *socket) closing() (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, strings.TrimSpace(s.reason)
}
