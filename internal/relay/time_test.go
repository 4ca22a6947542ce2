package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/byo"
	"openclaw/internal/relay"
	"openclaw/internal/relay/relaytest"
	"openclaw/internal/sse"
)

// bubble runs a relay of one node, or two, where time passes only when everybody
// waits.
func bubble(t *testing.T, run func(t *testing.T, net *relaytest.Net, m *relay.Memory, a *relaytest.Node)) {
	synctest.Test(t, func(t *testing.T) {
		m, net := relay.NewMemory(nil), relaytest.NewNet()
		run(t, net, m, net.Start(t, "a", config(m)))
	})
}

func config(m *relay.Memory) relay.Config {
	return relay.Config{Broker: m, OpenRegistration: true}
}

// SW-29: a peer that comes back with no delay after every end of its stream gets
// at most one a second.
func TestSW29_CleanCloseStorm(t *testing.T) {
	bubble(t, func(t *testing.T, net *relaytest.Net, m *relay.Memory, a *relaytest.Node) {
		b := net.Start(t, "b", config(m))
		as := relaytest.NewDesktop(t, a).Pair(a, byo.StaticV1)
		begun, opened, refused := time.Now(), 0, 0
		for i := 0; time.Since(begun) < 20*time.Second; i++ {
			n := []*relaytest.Node{a, b}[i%2]
			s, status, e := as.TryOpen(n, "/integrations/"+as.ID+"/stream", "")
			switch {
			case status == http.StatusOK:
				opened++
				s.Close()
			case status == http.StatusTooManyRequests && e.RetryAfterMS > 0:
				refused++
				time.Sleep(10 * time.Millisecond)
			default:
				t.Fatalf("stream = %d %v, want 200 or 429", status, e)
			}
		}
		if opened > 21 || opened < 15 || refused < 100 {
			t.Errorf("%d streams in 20 s and %d refusals, want about 20 streams", opened, refused)
		}
	})
}

// Section 4.3: a comment every 15 s when nothing else is said.
func TestKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		as := relaytest.NewDesktop(t, a).Pair(a, byo.DuplexV2)
		s := as.Stream(a, "")
		begun := time.Now()
		s.Comment("keep-alive")
		s.Comment("keep-alive")
		if took := time.Since(begun); took < 30*time.Second || took > 33*time.Second {
			t.Errorf("two keep-alives after %v, want 30 s to 33 s", took)
		}
	})
}

// Section 5.5: a job nobody acknowledged comes again after 10 s, three times, on
// the same stream, if the assistant said that it acknowledges; the id is new.
func TestRedelivery(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as, plain := d.Pair(a, byo.DuplexV2), d.Pair(a, byo.DuplexV2)
		as.Must(a, 200, "POST", "/integrations/"+as.ID+"/heartbeat",
			byo.Heartbeat{Protocol: &byo.HeartbeatProtocol{SupportsAck: true}}, nil)
		s, other := as.Stream(a, ""), plain.Stream(a, "")
		job, acked := relaytest.NewJob(time.Now(), 5*time.Minute, 64), relaytest.NewJob(time.Now(), 5*time.Minute, 64)
		d.Submit(a, as.ID, job)
		d.Submit(a, as.ID, acked)
		d.Submit(a, plain.ID, relaytest.NewJob(time.Now(), 5*time.Minute, 64))
		begun, last := time.Now(), ""
		s.NextJob()
		s.NextJob()
		as.Must(a, 204, "POST", "/reasoning-jobs/"+acked.JobID+"/ack", struct{}{}, nil)
		for i := range byo.MaxRedeliveries {
			got, id := s.NextJob()
			if got != job.JobID || id == last {
				t.Errorf("delivery %d = %s with id %s, want the job with a new id", i+2, got, id)
			}
			last = id
			if took := time.Since(begun); took < 10*time.Second || took > 16*time.Second {
				t.Errorf("delivery %d after %v, want 10 s and a sweep", i+2, took)
			}
			begun = time.Now()
		}
		other.NextJob()
		time.Sleep(2 * time.Minute)
		s.Quiet(byo.EventReasoningJob)
		other.Quiet(byo.EventReasoningJob)
	})
}

// SW-27: the sweeper ends a job within 5 s of its deadline, also when the node
// that swept before has died.
func TestSW27_SweeperTakesOver(t *testing.T) {
	bubble(t, func(t *testing.T, net *relaytest.Net, m *relay.Memory, a *relaytest.Node) {
		b := net.Start(t, "b", config(m))
		d := relaytest.NewDesktop(t, b)
		as := d.Pair(b, byo.DuplexV2)
		events := d.Stream(b, "")
		events.Patience = time.Minute
		check := func(in, within time.Duration) {
			t.Helper()
			job := relaytest.NewJob(time.Now(), in, 64)
			due := time.Now().Add(in)
			d.Submit(b, as.ID, job)
			var r byo.JobResult
			events.NextOf(byo.EventReasoningJobResult, &r)
			if late := time.Since(due); r.JobID != job.JobID || r.Status != byo.JobTimedOut || late < -time.Second || late > within {
				t.Errorf("result %+v came %v after the deadline, want timed_out within %v", r, late, within)
			}
		}
		check(3*time.Second, 6*time.Second)
		a.Stop()
		check(3*time.Second, 21*time.Second)
		// A new node learns of the open jobs from the topics.
		job := relaytest.NewJob(time.Now(), 20*time.Second, 64)
		d.Submit(b, as.ID, job)
		b.Stop()
		c := net.Start(t, "c", config(m))
		events = d.Stream(c, "")
		events.Patience = time.Minute
		for {
			var r byo.JobResult
			if events.NextOf(byo.EventReasoningJobResult, &r); r.JobID == job.JobID {
				break
			}
		}
	})
}

// SW-31: the desktop is told when its assistant goes stale and offline, and when
// it is back.
func TestSW31_StatusEvents(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		events := d.Stream(a, "")
		events.Patience = time.Hour
		want := func(liveness string, connected bool, from, to time.Duration, begun time.Time) {
			t.Helper()
			var v byo.IntegrationStatus
			events.NextOf(byo.EventIntegrationStatus, &v)
			if took := time.Since(begun); v.Liveness != liveness || v.Connected != connected || took < from || took > to {
				t.Errorf("status = %+v after %v, want %s, connected %v, after %v to %v", v, took, liveness, connected, from, to)
			}
		}
		s := as.Stream(a, "")
		begun := time.Now()
		want(byo.LivenessFresh, true, 0, 0, begun)
		want(byo.LivenessStale, true, 90*time.Second, 96*time.Second, begun)
		want(byo.LivenessOffline, true, 300*time.Second, 306*time.Second, begun)
		as.Must(a, 200, "POST", "/integrations/"+as.ID+"/heartbeat", nil, nil)
		begun = time.Now()
		want(byo.LivenessFresh, true, 0, 0, begun)
		s.Close()
		want(byo.LivenessFresh, false, 0, 0, begun)
	})
}

// Sections 4.3 and 19: a draining node refuses streams before it ends any, and
// ends them between 5 s and 15 s, spread.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		var streams []*relaytest.Stream
		var assistants []*relaytest.Assistant
		for range 5 {
			as := d.Pair(a, byo.DuplexV2)
			assistants, streams = append(assistants, as), append(streams, as.Stream(a, ""))
		}
		var wg sync.WaitGroup
		begun := time.Now()
		wg.Go(func() {
			if err := a.Relay.Drain(context.Background()); err != nil {
				t.Errorf("Drain: %v", err)
			}
		})
		time.Sleep(2 * time.Second)
		_, status, e := assistants[0].TryOpen(a, "/integrations/"+assistants[0].ID+"/stream", "")
		if status != 503 || e.Code != byo.CodeDraining {
			t.Errorf("stream while draining = %d %v, want 503 draining", status, e)
		}
		if res, err := a.Client.Get("http://a/readyz"); err != nil || res.StatusCode != 503 {
			t.Errorf("readyz while draining = %v %v, want 503", res, err)
		} else {
			_ = res.Body.Close()
		}
		if res, err := a.Client.Get("http://a/healthz"); err != nil || res.StatusCode != 200 {
			t.Errorf("healthz while draining = %v %v, want 200", res, err)
		} else {
			_ = res.Body.Close()
		}
		job := relaytest.NewJob(time.Now(), time.Minute, 64)
		d.Submit(a, assistants[1].ID, job)
		streams[1].NextJob()
		var mu sync.Mutex
		ends := map[time.Duration]bool{}
		var each sync.WaitGroup
		for _, s := range streams {
			each.Go(func() {
				s.End()
				mu.Lock()
				defer mu.Unlock()
				ends[time.Since(begun)] = true
			})
		}
		each.Wait()
		wg.Wait()
		for at := range ends {
			if at < 5*time.Second || at > 15*time.Second {
				t.Errorf("a stream ended after %v, want 5 s to 15 s", at)
			}
		}
		if len(ends) != len(streams) {
			t.Errorf("%d streams ended at %d moments, want each at its own", len(streams), len(ends))
		}
	})
}

// Section 9: a connectivity test that nobody answers ends after 20 s.
func TestConnectivityTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		events := d.Stream(a, "")
		events.Patience = time.Minute
		begun := time.Now()
		d.Must(a, 202, "POST", "/integrations/"+as.ID+"/test", struct{}{}, nil)
		var end byo.IntegrationTest
		events.NextOf(byo.EventIntegrationTest, &end)
		if took := time.Since(begun); end.OK || took < 20*time.Second || took > 21*time.Second {
			t.Errorf("test = %+v after %v, want not ok after 20 s", end, took)
		}
	})
}

// Section 5.5: a wait ends at its own time, or at the job's deadline.
func TestWaitEnds(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		job := relaytest.NewJob(time.Now(), 12*time.Second, 64)
		d.Submit(a, as.ID, job)
		var state byo.JobState
		begun := time.Now()
		d.Must(a, 200, "GET", "/reasoning-jobs/"+job.JobID+"?wait_ms=5000", nil, &state)
		if took := time.Since(begun); state.Status != byo.JobQueued || took != 5*time.Second {
			t.Errorf("state = %s after %v, want queued after 5 s", state.Status, took)
		}
		d.Must(a, 200, "GET", "/reasoning-jobs/"+job.JobID+"?wait_ms=30000", nil, &state)
		if took := time.Since(begun); state.Status != byo.JobTimedOut || took > 12*time.Second {
			t.Errorf("state = %s after %v, want timed_out after 12 s", state.Status, took)
		}
	})
}

// Section 5.5: results are kept for an hour, chat for a day.
func TestRetention(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		job := relaytest.NewJob(time.Now(), time.Minute, 64)
		d.Submit(a, as.ID, job)
		as.Must(a, 200, "POST", "/reasoning-jobs/"+job.JobID+"/complete", relaytest.Completed(job.JobID), nil)
		frame := byo.ControlFrame{FrameID: relaytest.UUID(), Envelope: relaytest.Sealed(byo.DuplexV2, byo.RolePlugin, 64)}
		frame.Envelope.ContentType = byo.ContentChatOut
		as.Must(a, 202, "POST", "/integrations/"+as.ID+"/control", frame, nil)
		time.Sleep(byo.ResultsFor - time.Second)
		if got := d.State(a, job.JobID); string(got.Result) == "null" {
			t.Error("the result is gone before an hour")
		}
		time.Sleep(time.Second)
		d.Fails(a, byo.CodeNotFound, "GET", "/reasoning-jobs/"+job.JobID, nil)
		for i, want := range []int{1, 0} {
			var page byo.ChatMessages
			d.Must(a, 200, "GET", "/integrations/"+as.ID+"/chat/messages", nil, &page)
			if len(page.Frames) != want {
				data, _ := json.Marshal(page)
				t.Errorf("messages at look %d = %s, want %d frames", i, data, want)
			}
			time.Sleep(byo.EventsFor - byo.ResultsFor)
		}
	})
}

// Section 19: a peer that does not read loses its stream, not its frames: it
// resumes by its last id and has each of them once.
func TestSlowPeerResumes(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		const frames = 400
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		body := as.Raw(a, "/integrations/"+as.ID+"/stream")
		for range frames {
			d.Must(a, 202, "POST", "/integrations/"+as.ID+"/control",
				byo.ControlFrame{FrameID: relaytest.UUID(), Envelope: relaytest.Sealed(byo.DuplexV2, byo.RoleDesktop, 1024)}, nil)
		}
		time.Sleep(11 * time.Second)
		last, got := "", map[string]bool{}
		take := func(ev sse.Event) {
			var f byo.Frame
			if json.Unmarshal(ev.Data, &f) == nil && f.EventType == byo.EventBYOControl {
				if got[f.FrameID] {
					t.Errorf("frame %s came twice", f.FrameID)
				}
				got[f.FrameID] = true
			}
			last = ev.ID
		}
		r := sse.NewReader(body, sse.Config{})
		for {
			ev, err := r.Next()
			if err != nil {
				break
			}
			take(ev)
		}
		_ = body.Close()
		if len(got) == frames {
			t.Error("the stream took everything without being read")
		}
		s := as.Stream(a, last)
		for len(got) < frames {
			take(s.Next())
		}
		s.Quiet(byo.EventBYOControl)
	})
}

// SW-30: the desktop is told when its assistant's stream went down with a node.
func TestStatusAfterNodeDied(t *testing.T) {
	bubble(t, func(t *testing.T, net *relaytest.Net, m *relay.Memory, a *relaytest.Node) {
		b := net.Start(t, "b", config(m))
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		events := d.Stream(a, "")
		as.Stream(b, "")
		var v byo.IntegrationStatus
		if events.NextOf(byo.EventIntegrationStatus, &v); !v.Connected {
			t.Errorf("status = %+v, want connected", v)
		}
		b.Crash()
		events.Patience = time.Minute
		if events.NextOf(byo.EventIntegrationStatus, &v); v.Connected || v.Status != byo.HostDisconnected || v.Liveness != byo.LivenessFresh {
			t.Errorf("status = %+v, want disconnected", v)
		}
	})
}

// Section 4.4: the desktop's stream resumes like the assistant's.
func TestDesktopResumes(t *testing.T) {
	bubble(t, func(t *testing.T, _ *relaytest.Net, _ *relay.Memory, a *relaytest.Node) {
		d := relaytest.NewDesktop(t, a)
		as := d.Pair(a, byo.DuplexV2)
		var ids []string
		for range 3 {
			job := relaytest.NewJob(time.Now(), time.Minute, 64)
			d.Submit(a, as.ID, job)
			as.Must(a, 200, "POST", "/reasoning-jobs/"+job.JobID+"/complete", relaytest.Completed(job.JobID), nil)
			ids = append(ids, job.JobID)
		}
		read := func(s *relaytest.Stream, want ...string) (id string) {
			t.Helper()
			for _, job := range want {
				var r byo.JobResult
				if id = s.NextOf(byo.EventReasoningJobResult, &r).ID; r.JobID != job || len(r.Result) < 100 {
					t.Errorf("result = %+v, want that of %s", r, job)
				}
			}
			s.Close()
			return id
		}
		first := read(d.Stream(a, ""), ids[0])
		d.Must(a, 204, "DELETE", "/reasoning-jobs/"+ids[1], nil, nil)
		read(d.Stream(a, first), ids[2])
		read(d.Stream(a, "ahead"), ids[0], ids[2])
	})
}
