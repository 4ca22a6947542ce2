package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/protocol"
)

// ending reads a connection to its close and notes what tells of the end: of runs,
// of requests and of the gateway.
func ending(c *wsClient) (words []string) {
	for {
		f, err := c.next()
		if err != nil {
			code, reason, _ := closeOf(err)
			return append(words, fmt.Sprintf("closed %d %s", code, reason))
		}
		switch {
		case f.Type == protocol.TypeResponse:
			var p struct {
				Status string `json:"status"`
				Result struct {
					Meta struct {
						Aborted bool `json:"aborted"`
					} `json:"meta"`
				} `json:"result"`
			}
			json.Unmarshal(f.Payload, &p) // what has none is told by its error
			word := "response " + p.Status
			if p.Result.Meta.Aborted {
				word += " aborted"
			}
			if f.Error != nil {
				word = fmt.Sprintf("response %s retryable %v", f.Error.Code, f.Error.Retryable)
			}
			words = append(words, word)
		case f.Event == protocol.EventChat:
			var e protocol.ChatEvent
			json.Unmarshal(f.Payload, &e)
			if e.State != protocol.ChatDelta {
				words = append(words, "chat "+e.State+" "+e.StopReason)
			}
		case f.Event == protocol.EventShutdown:
			var e protocol.ShutdownEvent
			json.Unmarshal(f.Payload, &e)
			words = append(words, "shutdown "+e.Reason)
		}
	}
}

// P3, P22, GW-081: a restart loses no accepted run. What ends within the grace period
// ends well; the rest is aborted with its cause; requester and onlooker hear exactly
// one end of each run, before they hear of the restart.
func TestRestartEndsRuns(t *testing.T) {
	for _, tt := range []struct {
		name             string
		after            time.Duration // when the run would end by itself
		response, ending string
		grace            bool // all of it is used
	}{
		{"in time", time.Second, "response ok", "chat final ", false},
		{"too long", time.Hour, "response ok aborted", "chat aborted shutdown", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, ended := restartHouse(t, "", func(c *Config) { c.Grace = 3 * time.Second })
				asker, onlooker := h.connect(dialer{}), h.connect(dialer{})
				params := func(key string) object {
					return object{"message": "hi", "agentId": "main", "idempotencyKey": key}
				}
				if f := asker.call(protocol.MethodAgent, params("run-1")); !f.OK {
					t.Fatalf("agent = %+v, want it accepted", f.Error)
				}
				h.runner.do("run-1", func(r *scriptedRun) { r.say("half", "half") })
				time.AfterFunc(tt.after, func() { h.runner.finish("run-1", "half an answer") })
				start := time.Now()
				h.g.Restart("config file changed")
				time.Sleep(100 * time.Millisecond)
				asker.request(protocol.MethodAgent, params("run-2")) // too late
				asked, seen := ending(asker), ending(onlooker)
				wantAsked := []string{"response UNAVAILABLE retryable true", tt.ending, tt.response, "shutdown gateway restarting", "closed 1012 service restart"}
				wantSeen := []string{tt.ending, "shutdown gateway restarting", "closed 1012 service restart"}
				if fmt.Sprint(asked) != fmt.Sprint(wantAsked) {
					t.Errorf("the requester heard %q, want %q", asked, wantAsked)
				}
				if fmt.Sprint(seen) != fmt.Sprint(wantSeen) {
					t.Errorf("the onlooker heard %q, want %q", seen, wantSeen)
				}
				if err := <-ended; !errors.Is(err, ErrRestart) {
					t.Errorf("Run = %v, want ErrRestart", err)
				}
				if took := time.Since(start); took > 3500*time.Millisecond || tt.grace && took < 3*time.Second {
					t.Errorf("the end took %v with a grace period of 3s", took)
				}
			})
		})
	}
}

// A connection that waits for something that will not come does not hold a
// shutdown up for long, and one that takes nothing not much longer.
func TestShutdownDoesNotWaitForClients(t *testing.T) {
	for name, reads := range map[string]bool{"waits": true, "is stuck": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "")
				c := h.connect(dialer{})
				c.request(protocol.MethodAgentWait, object{"runId": "never", "timeoutMs": 600_000})
				heard := make(chan []string, 1)
				limit := goodbyeTime + answerTime
				if reads {
					limit = answerTime
					go func() { heard <- ending(c) }()
				}
				synctest.Wait()
				start := time.Now()
				h.close()
				if took := time.Since(start); took > limit {
					t.Errorf("shutdown took %v, want at most %v", took, limit)
				}
				if reads {
					if got := <-heard; len(got) != 2 || got[0] != "shutdown gateway stopping" || got[1] != "closed 1012 service restart" {
						t.Errorf("the client heard %q, want the shutdown and the close", got)
					}
				}
			})
		})
	}
}
