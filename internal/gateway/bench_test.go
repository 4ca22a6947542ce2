package gateway

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"openclaw/internal/run"
)

// lightConn is a client that costs next to nothing, so that the gateway is what
// is measured.
type lightConn struct {
	net.Conn
	r *bufio.Reader
}

func lightDial(b *testing.B, addr string) *lightConn {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	c := &lightConn{conn, bufio.NewReaderSize(conn, 32<<10)}
	key := base64.StdEncoding.EncodeToString(make([]byte, 16))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", addr, key)
	res, err := http.ReadResponse(c.r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		b.Fatalf("upgrade = %v, %v", res, err)
	}
	return c
}

// lightFrame is a masked text frame; the mask of zeros changes nothing.
func lightFrame(text string) []byte {
	head := []byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}
	return append(head, text...)
}

// skip reads one frame without looking at it.
func (c *lightConn) skip() (int, error) {
	var h [2]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return 0, err
	}
	n := int(h[1])
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(c.r, b[:]); err != nil {
			return 0, err
		}
		n = int(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(c.r, b[:]); err != nil {
			return 0, err
		}
		n = int(binary.BigEndian.Uint64(b[:]))
	}
	return c.r.Discard(n)
}

// until skips frames until one begins with prefix.
func (c *lightConn) until(prefix string) error {
	for {
		head, err := c.r.Peek(4)
		if err != nil {
			return err
		}
		skip := 2
		switch head[1] {
		case 126:
			skip = 4
		case 127:
			skip = 10
		}
		start, err := c.r.Peek(skip + len(prefix))
		if err != nil {
			return err
		}
		found := string(start[skip:]) == prefix
		if _, err := c.skip(); err != nil || found {
			return err
		}
	}
}

func (c *lightConn) hello(b *testing.B) {
	b.Helper()
	params, _ := json.Marshal(hello())
	c.Write(lightFrame(`{"type":"req","id":"c","method":"connect","params":` + string(params) + `}`))
	if err := c.until(`{"type":"res"`); err != nil {
		b.Fatal(err)
	}
}

// benchHouse is a gateway on a real socket.
func benchHouse(b *testing.B) (*house, string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	h := newHouse(b, "", func(c *Config) { c.Log = nil })
	done := make(chan error, 1)
	server := &http.Server{Handler: h.g}
	go func() { done <- server.Serve(l) }()
	b.Cleanup(func() {
		server.Close()
		<-done
	})
	return h, l.Addr().String()
}

// Health requests a second over so many connections, one at a time on each.
func BenchmarkHealth(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("conns=%d", n), func(b *testing.B) {
			_, addr := benchHouse(b)
			conns := make([]*lightConn, n)
			for i := range conns {
				conns[i] = lightDial(b, addr)
				conns[i].hello(b)
			}
			req := lightFrame(`{"type":"req","id":"h","method":"health"}`)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, c := range conns {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := c.Write(req); err != nil {
							b.Error(err)
							return
						}
						if err := c.until(`{"type":"res"`); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			for _, c := range conns {
				c.Close()
			}
		})
	}
}

func BenchmarkHandshake(b *testing.B) {
	_, addr := benchHouse(b)
	b.ReportAllocs()
	for b.Loop() {
		c := lightDial(b, addr)
		c.hello(b)
		c.Close()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "conns/s")
}

// A run streams 1,000 words, one event a word, to 100 subscribers.
func BenchmarkFanout(b *testing.B) {
	const subscribers, words = 100, 1000
	h, addr := benchHouse(b)
	var wg sync.WaitGroup
	conns := make([]*lightConn, subscribers)
	for i := range conns {
		conns[i] = lightDial(b, addr)
		conns[i].hello(b)
	}
	final := make(chan struct{}, subscribers)
	for _, c := range conns {
		wg.Go(func() {
			for {
				if err := c.until(`{"type":"event","event":"chat","payload":{"runId":"r","sessionKey":"main","seq":1002`); err != nil {
					return
				}
				final <- struct{}{}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		streamRun(h.g, words)
		for range conns {
			<-final
		}
		h.g.runs.byID = nil // the same run again
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N*subscribers*(words+2))/b.Elapsed().Seconds(), "events/s")
	for _, c := range conns {
		c.Close()
	}
	wg.Wait()
}

// streamRun publishes a whole run.
func streamRun(g *Gateway, words int) {
	e := run.Event{RunID: "r", SessionKey: "main", AgentID: "main", Stream: run.StreamLifecycle}
	next := func() run.Event {
		e.Seq++
		e.At = time.Now()
		return e
	}
	e.Lifecycle = &run.Lifecycle{Phase: run.PhaseStart, StartedAt: time.Now()}
	g.Publish(next())
	e.Lifecycle, e.Stream = nil, run.StreamAssistant
	var text strings.Builder
	for i := range words {
		word := fmt.Sprintf("w%d ", i)
		text.WriteString(word)
		e.Assistant = &run.Assistant{Text: text.String(), Delta: word}
		g.Publish(next())
	}
	e.Assistant, e.Stream = nil, run.StreamLifecycle
	e.Lifecycle = &run.Lifecycle{Phase: run.PhaseEnd, EndedAt: time.Now()}
	g.Publish(next())
}

// BenchmarkIdleConn reports what a connection that does nothing costs.
func BenchmarkIdleConn(b *testing.B) {
	const n = 1000
	_, addr := benchHouse(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]*lightConn, 0, n)
	for range n {
		c := lightDial(b, addr)
		c.hello(b)
		conns = append(conns, c)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
	}
	// The client's end, with its 32 KiB reader, lives in this process too.
	bytes := float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/n - 32<<10
	b.ReportMetric(bytes, "B/conn")
	for _, c := range conns {
		c.Close()
	}
}
