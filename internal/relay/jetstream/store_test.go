package jetstream_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relay/relaytest"
)

// SW-30: with an embedded broker a relay goes on where it was after a restart:
// tokens, pairings, open jobs, results and positions of streams.
func TestRestart(t *testing.T) {
	dir, clock, net := t.TempDir(), &relaytest.Clock{}, relaytest.NewNet()
	start := func() (*jetstream.Broker, *relaytest.Node) {
		b, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return b, net.Start(t, "a", relay.Config{Broker: b, Now: clock.Now, OpenRegistration: true})
	}
	stop := func(b *jetstream.Broker, n *relaytest.Node) {
		n.Stop()
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	b, n := start()
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	s := a.Stream(n, "")
	job := func() byo.JobRequest {
		r := relaytest.NewJob(clock.Now(), 5*time.Minute, 1040)
		d.Submit(n, a.ID, r)
		return r
	}
	first, second, done := job(), job(), job()
	if got, _ := s.NextJob(); got != first.JobID {
		t.Fatalf("job = %s, want the first", got)
	}
	_, seen := s.NextJob()
	a.Must(n, 200, "POST", "/reasoning-jobs/"+done.JobID+"/complete", relaytest.Completed(done.JobID), nil)
	stop(b, n)
	b, n = start()
	if got := d.State(n, done.JobID); got.Status != byo.JobCompleted || string(got.Result) == "null" {
		t.Errorf("job = %+v after a restart, want its result", got)
	}
	clock.Advance(2 * time.Second)
	s = a.Stream(n, "")
	for _, want := range []byo.JobRequest{first, second} {
		if got, _ := s.NextJob(); got != want.JobID {
			t.Errorf("job = %s after a restart, want %s", got, want.JobID)
		}
	}
	late := job()
	s.NextJob()
	clock.Advance(2 * time.Second)
	s = a.Stream(n, seen)
	if got, _ := s.NextJob(); got != late.JobID {
		t.Errorf("job = %s after %s, want only the late one", got, seen)
	}
	stop(b, n)
}

// SW-30: what was answered survives a kill of the process: it is in the files
// without any goodbye.
func TestKill(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	clock, net := &relaytest.Clock{}, relaytest.NewNet()
	n := net.Start(t, "a", relay.Config{Broker: open(t, jetstream.Config{Dir: dir}), Now: clock.Now, OpenRegistration: true})
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	var jobs []byo.JobRequest
	for range 20 {
		r := relaytest.NewJob(clock.Now(), 5*time.Minute, 1040)
		d.Submit(n, a.ID, r)
		jobs = append(jobs, r)
	}
	a.Must(n, 200, "POST", "/reasoning-jobs/"+jobs[0].JobID+"/complete", relaytest.Completed(jobs[0].JobID), nil)
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil { // what a kill would leave
		t.Fatal(err)
	}
	again := net.Start(t, "b", relay.Config{Broker: open(t, jetstream.Config{Dir: killed}), Now: clock.Now, OpenRegistration: true})
	if got := d.State(again, jobs[0].JobID); got.Status != byo.JobCompleted {
		t.Errorf("job = %s after a kill, want completed", got.Status)
	}
	s := a.Stream(again, "")
	for _, want := range jobs[1:] {
		if got, _ := s.NextJob(); got != want.JobID {
			t.Errorf("job = %s after a kill, want %s", got, want.JobID)
		}
	}
}

// One folder has one relay.
func TestFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, jetstream.Config{Dir: dir})
	if _, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir}); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("second Open = %v, want a locked folder", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, cfg := range []jetstream.Config{{}, {Dir: t.TempDir(), URL: "nats://127.0.0.1:1"}, {URL: "nats://127.0.0.1:1"}} {
		if b, err := jetstream.Open(t.Context(), cfg); err == nil {
			t.Errorf("Open(%+v) succeeded", cfg)
			_ = b.Close()
		}
	}
}

// While the broker is away requests get 503 and are worth a retry; when it is back
// everything goes on, streams included.
func TestBrokerGone(t *testing.T) {
	dir := t.TempDir()
	run := func(port int) *server.Server {
		s, err := server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("the server does not get ready")
		}
		return s
	}
	port := freePort(t)
	s := run(port)
	b := open(t, jetstream.Config{URL: s.ClientURL(), Replicas: 1})
	clock := &relaytest.Clock{}
	n := relaytest.NewNet().Start(t, "a", relay.Config{Broker: b, Now: clock.Now, OpenRegistration: true})
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	stream := a.Stream(n, "")
	s.Shutdown()
	s.WaitForShutdown()
	job := relaytest.NewJob(clock.Now(), 5*time.Minute, 64)
	path := "/integrations/" + a.ID + "/reasoning-jobs"
	if e := d.Fails(n, byo.CodeStorageUnavailable, "POST", path, job); e.RetryAfterMS < 1 || e.Message == "" {
		t.Errorf("error = %+v, want a time to wait", e)
	}
	if res, err := n.Client.Get("http://a/readyz"); err != nil || res.StatusCode != 503 {
		t.Errorf("readyz = %v %v, want 503", res, err)
	} else {
		_ = res.Body.Close()
	}
	s = run(port)
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	until(t, "a job after the broker came back", func() bool {
		status, _ := d.Call(n, "POST", path, job, nil)
		return status < 300
	})
	if got, _ := stream.NextJob(); got != job.JobID {
		t.Errorf("job = %s, want %s on the old stream", got, job.JobID)
	}
}
