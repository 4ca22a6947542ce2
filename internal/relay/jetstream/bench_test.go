package jetstream_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relay/relaytest"
)

// site is a relay with file storage behind a TCP listener.
type site struct {
	node *relaytest.Node // reaches it in memory, for the preparations
	addr string
	http *http.Client
}

func newSite(b *testing.B) *site {
	b.Helper()
	broker := open(b, jetstream.Config{Dir: b.TempDir()})
	n := relaytest.NewNet().Start(b, "bench", relay.Config{
		Broker: broker, OpenRegistration: true, JobsPerMinute: 1e9, OpenJobs: 1e6,
		TrustedProxies: []netip.Prefix{relaytest.Address},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: n.Relay.Handler()}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	transport := &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}
	b.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		wg.Wait()
	})
	return &site{node: n, addr: l.Addr().String(), http: &http.Client{Transport: transport}}
}

func (s *site) post(b *testing.B, token, path string, body []byte, want int) {
	req, err := http.NewRequest("POST", "http://"+s.addr+byo.BasePath+path, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := s.http.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	data, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != want {
		b.Errorf("POST %s = %d %s", path, res.StatusCode, data)
	}
}

// stream calls fn with the data of each frame until ctx ends.
func (s *site) stream(ctx context.Context, b *testing.B, token, path string, fn func([]byte)) *sync.WaitGroup {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+byo.BasePath+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := s.http.Do(req)
	if err != nil || res.StatusCode != 200 {
		b.Fatalf("stream: %v %v", res, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = res.Body.Close() }()
		r := bufio.NewReaderSize(res.Body, 16<<10)
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				fn(data)
			}
		}
	})
	return &wg
}

func jobID(frame []byte) string {
	_, rest, _ := bytes.Cut(frame, []byte(`"job_id":"`))
	return string(rest[:min(36, len(rest))])
}

// couple is a desktop with an assistant that completes every job at once.
type couple struct {
	d       *relaytest.Desktop
	a       *relaytest.Assistant
	mu      sync.Mutex
	waiting map[string]chan struct{}

	template byo.JobRequest
	request  []byte
}

func (s *site) couple(ctx context.Context, b *testing.B) (*couple, []*sync.WaitGroup) {
	c := &couple{d: relaytest.NewDesktop(b, s.node), waiting: map[string]chan struct{}{}}
	c.a = c.d.Pair(s.node, byo.DuplexV2)
	c.template = relaytest.NewJob(time.Now(), time.Minute, 2064)
	var err error
	if c.request, err = json.Marshal(c.template); err != nil {
		b.Fatal(err)
	}
	template, err := json.Marshal(relaytest.Completed("@JOB@"))
	if err != nil {
		b.Fatal(err)
	}
	answers := s.stream(ctx, b, c.a.Token, "/integrations/"+c.a.ID+"/stream", func(data []byte) {
		if !bytes.HasPrefix(data, []byte(`{"event_type":"reasoning_job"`)) {
			return
		}
		id := jobID(data)
		s.post(b, c.a.Token, "/reasoning-jobs/"+id+"/complete", bytes.ReplaceAll(template, []byte("@JOB@"), []byte(id)), 200)
	})
	results := s.stream(ctx, b, c.d.Token, "/desktop/stream", func(data []byte) {
		if !bytes.HasPrefix(data, []byte(`{"event_type":"reasoning_job_result"`)) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		id := jobID(data)
		if done := c.waiting[id]; done != nil {
			close(done)
			delete(c.waiting, id)
		}
	})
	return c, []*sync.WaitGroup{answers, results}
}

// job submits a job and waits for its result on the desktop's stream.
func (s *site) job(b *testing.B, c *couple) {
	id := relaytest.UUID()
	body := bytes.ReplaceAll(c.request, []byte(c.template.JobID), []byte(id))
	body = bytes.ReplaceAll(body, []byte(c.template.DeadlineAt), []byte(byo.FormatTime(time.Now().Add(time.Minute).Truncate(time.Second))))
	done := make(chan struct{})
	c.mu.Lock()
	c.waiting[id] = done
	c.mu.Unlock()
	s.post(b, c.d.Token, "/integrations/"+c.a.ID+"/reasoning-jobs", body, 202)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		b.Errorf("no result of %s", id)
	}
}

// What a relay adds to a job: from the desktop's POST to the result on its stream,
// with an assistant that answers at once. Client and server share the machine.
func BenchmarkJobOverhead(b *testing.B) {
	s := newSite(b)
	ctx, cancel := context.WithCancel(context.Background())
	c, streams := s.couple(ctx, b)
	var times []time.Duration
	for range 50 {
		s.job(b, c)
	}
	b.ResetTimer()
	for b.Loop() {
		begun := time.Now()
		s.job(b, c)
		times = append(times, time.Since(begun))
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	cancel()
	for _, wg := range streams {
		wg.Wait()
	}
}

// Whole jobs a second of 200 integrations, clients included.
func BenchmarkThroughput(b *testing.B) {
	const integrations = 200
	s := newSite(b)
	ctx, cancel := context.WithCancel(context.Background())
	var couples []*couple
	var streams []*sync.WaitGroup
	for range integrations {
		c, wgs := s.couple(ctx, b)
		couples, streams = append(couples, c), append(streams, wgs...)
	}
	b.ResetTimer()
	before := cpuTime(b)
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, c := range couples {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				s.job(b, c)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/job")
	cancel()
	for _, wg := range streams {
		wg.Wait()
	}
}

// From nothing to a node that is ready, with a store that has been used.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		broker, err := jetstream.Open(context.Background(), jetstream.Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		n := relaytest.NewNet().Start(b, "start", relay.Config{Broker: broker, OpenRegistration: true})
		b.StopTimer()
		n.Stop()
		_ = broker.Close()
		b.StartTimer()
	}
}

// The memory of a process with 5,000 idle streams; the clients' ends, which are
// sockets only, are in it.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 5000
	for b.Loop() {
		s := newSite(b)
		var assistants []*relaytest.Assistant
		for len(assistants) < streams {
			d := relaytest.NewDesktop(b, s.node)
			for range min(byo.MaxIntegrations, streams-len(assistants)) {
				assistants = append(assistants, d.Pair(s.node, byo.DuplexV2))
			}
		}
		before := settled(b)
		var conns []net.Conn
		for _, a := range assistants {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, "GET %s/integrations/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
				byo.BasePath, a.ID, a.Token); err != nil {
				b.Fatal(err)
			}
			if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				b.Fatalf("stream = %q, %v", line, err)
			}
			conns = append(conns, conn)
		}
		after := settled(b)
		b.ReportMetric(float64(after)/(1<<20), "RSS-MB")
		b.ReportMetric(float64(after-before)/1024/streams, "KB/stream")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
		b.ReportMetric(float64(m.StackInuse)/(1<<20), "stack-MB")
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// cpuTime is what the process used of the processors, which a busy machine does
// not distort.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// settled is the resident memory when the storage has let go of what it wrote.
func settled(b *testing.B) int {
	<-time.After(12 * time.Second)
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	return rss(b)
}

func rss(b *testing.B) int {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		b.Fatal(err)
	}
	return pages * os.Getpagesize()
}
