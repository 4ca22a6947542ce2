package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/desktop"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

const (
	simSessions  = 3
	simEvery     = 20 * time.Second // of talk, between two messages
	simCalm      = 20               // messages before the first kill, for the latency
	simRecovers  = 4 * time.Minute  // after the last message
	simRemark    = "Number %d of %d: the offer is at %d percent for every seat, and somebody here has to defend it before the board on Thursday, whatever it takes. We talked about it all morning, and about nothing else but the price."
	simCallTitle = "sim"
)

// simCommand kills everything again and again. See docs/commands/stagewhisper/sim.md.
func simCommand(p *program) *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Replay an hour while relay, assistant and desktop are killed at random moments",
		Long: `Starts a relay, an assistant and a desktop as processes of their own, replays an hour of
talk and chat at speed, and kills one of the three at random moments, without warning.
Then it looks at what the desktop has: every message that was acknowledged has one
answer, in order, and chat and insights never mix.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.newStage("sim")
			if err != nil {
				return err
			}
			m := &sim{stage: s, f: f, rand: rand.New(rand.NewPCG(f.seed, f.seed))}
			err = m.run(cmd.Context())
			for _, c := range m.processes {
				if c != nil {
					c.end()
				}
			}
			if err != nil {
				p.io.Say("everything lies in %s", s.dir)
				return err
			}
			return os.RemoveAll(s.dir)
		},
	}
	cmd.Flags().IntVar(&f.kills, "kills", 100, "how often something is killed")
	cmd.Flags().DurationVar(&f.length, "length", time.Hour, "how long the call is")
	cmd.Flags().DurationVar(&f.pause, "pause", 300*time.Millisecond, "what passes between two messages")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "of the random moments")
	return cmd
}

type simFlags struct {
	kills  int
	length time.Duration
	pause  time.Duration
	seed   uint64
}

// The three that are killed.
const (
	simRelay = iota
	simAssistant
	simDesktop
)

type sim struct {
	*stage
	f         simFlags
	rand      *rand.Rand
	api       string
	deskAddr  string
	desk      *desk
	id        string // of the assistant
	processes [3]*process
	killed    [3]int
}

// raise starts one of the three and waits until it answers.
func (m *sim) raise(ctx context.Context, who int) (err error) {
	args := [][]string{
		{"relay", "--bind", strings.TrimPrefix(m.api, "http://"), "--registration", "open", "--drain", "0s", "--jobs-per-minute", "10000", "--log", m.path("relay.log")},
		{"assistant", "run", "--backend", "offline", "--log", m.path("assistant.log")},
		{"desktop", "listen", "--api", m.deskAddr, "--callback", "", "--log", m.path("desktop.log")},
	}[who]
	c, err := m.start(args...)
	if err != nil {
		return err
	}
	m.processes[who] = c
	switch who {
	case simRelay:
		return c.until(ctx, "the relay", func() bool { return answers(m.api + "/readyz") })
	case simDesktop:
		return c.until(ctx, "the desktop", func() bool {
			data, err := disk.ReadFile(m.path("home", desktopFolder, apiFile), 64<<10)
			m.desk = &desk{http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
			return err == nil && json.Unmarshal(data, &m.desk.address) == nil && m.desk.call(ctx, http.MethodGet, "/v1/status", nil, nil) == nil
		})
	}
	return nil
}

func (m *sim) kill(ctx context.Context, who int) error {
	m.killed[who]++
	_ = m.processes[who].stop(os.Kill) // how it ended is known
	if err := m.raise(ctx, who); err != nil {
		return err
	}
	if who == simDesktop {
		return m.call(ctx)
	}
	return nil
}

func (m *sim) call(ctx context.Context) error {
	return m.desk.call(ctx, http.MethodPost, "/v1/calls", desktop.CallRequest{AssistantID: m.id, SessionID: "s-0", Title: simCallTitle}, nil)
}

func (m *sim) run(ctx context.Context) error {
	ports := [2]int{}
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return err
		}
	}
	m.api, m.deskAddr = fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	for _, who := range []int{simRelay, simDesktop} {
		if err := m.raise(ctx, who); err != nil {
			return err
		}
	}
	pairer := &demo{stage: m.stage, api: m.api, desk: m.desk}
	if err := pairer.pair(ctx); err != nil {
		return err
	}
	m.id = pairer.id
	if err := m.raise(ctx, simAssistant); err != nil {
		return err
	}
	if err := m.call(ctx); err != nil {
		return err
	}
	sent, err := m.talk(ctx)
	if err != nil {
		return err
	}
	return m.judge(ctx, sent)
}

// talk sends the messages and kills in between.
func (m *sim) talk(ctx context.Context) (sent int, err error) {
	total := max(simCalm+1, int(m.f.length/simEvery))
	moments := make([]int, m.f.kills)
	for i := range moments {
		moments[i] = simCalm + m.rand.IntN(total-simCalm)
	}
	slices.Sort(moments)
	for n := range total {
		for len(moments) > 0 && moments[0] == n {
			moments = moments[1:]
			if !relayclient.Sleep(ctx, time.Duration(m.rand.Int64N(int64(m.f.pause)+1))) {
				return n, ctx.Err()
			}
			if err := m.kill(ctx, m.rand.IntN(3)); err != nil {
				return n, err
			}
		}
		if err := m.send(ctx, n, total); err != nil {
			return n, err
		}
		if !relayclient.Sleep(ctx, m.f.pause) {
			return n, ctx.Err()
		}
	}
	return total, nil
}

func (m *sim) send(ctx context.Context, n, total int) error {
	session := fmt.Sprintf("s-%d", n%simSessions)
	err := m.desk.call(ctx, http.MethodPost, sessionPath(session, "/messages"), map[string]string{"assistant_id": m.id, "text": fmt.Sprintf("message m-%05d", n)}, nil)
	if err != nil {
		return err
	}
	seg := desktop.Segment{Speaker: "Them", Text: fmt.Sprintf(simRemark, n, total, n%100), StartMS: int64(n) * 20000, EndMS: int64(n)*20000 + 9000, Final: true}
	return m.desk.call(ctx, http.MethodPost, "/v1/calls/"+url.PathEscape("s-0")+"/segments", map[string]any{"segments": []desktop.Segment{seg}}, nil)
}

var simNumber = regexp.MustCompile(`m-(\d{5})`)

// tally is what the desktop has in the end.
type tally struct {
	answered, twice, disorder, mixed, insights int
	calm                                       []float64 // ms, before the first kill
}

func (m *sim) count(ctx context.Context) (t tally, err error) {
	for s := range simSessions {
		var list struct {
			Messages []desktop.Message `json:"messages"`
		}
		if err := m.desk.call(ctx, http.MethodGet, sessionPath(fmt.Sprintf("s-%d", s), "/messages"), nil, &list); err != nil {
			return t, err
		}
		asked, seen, last := map[string]time.Time{}, map[string]bool{}, ""
		for _, msg := range list.Messages {
			number := simNumber.FindString(msg.Content)
			switch {
			case msg.Tab == desktop.TabInsights:
				t.insights++
				if number != "" {
					t.mixed++
				}
			case msg.Role == desktop.RoleUser:
				asked[number] = msg.CreatedAt
			case number == "":
				t.mixed++
			case seen[number]:
				t.twice++
			default:
				seen[number] = true
				t.answered++
				if number < last {
					t.disorder++
				}
				last = number
				if number < fmt.Sprintf("m-%05d", simCalm) {
					t.calm = append(t.calm, float64(msg.CreatedAt.Sub(asked[number]).Microseconds())/1000)
				}
			}
		}
	}
	slices.Sort(t.calm)
	return t, nil
}

// judge waits for what is under way and looks at the result.
func (m *sim) judge(ctx context.Context, sent int) error {
	limit, cancel := context.WithTimeout(ctx, simRecovers)
	defer cancel()
	t, err := m.count(ctx)
	for err == nil && t.answered < sent && relayclient.Sleep(limit, 250*time.Millisecond) {
		t, err = m.count(ctx)
	}
	if err != nil {
		return err
	}
	out := func(format string, args ...any) { fmt.Fprintf(m.p.io.Out, format+"\n", args...) }
	out("killed:             relay %d, assistant %d, desktop %d times", m.killed[simRelay], m.killed[simAssistant], m.killed[simDesktop])
	out("messages:           %d, insights %d", sent, t.insights)
	out("lost:               %d", sent-t.answered)
	out("shown twice:        %d", t.twice)
	out("out of order:       %d", t.disorder)
	out("mixed up:           %d", t.mixed)
	out("latency of an answer while nothing is killed: p50 %.1f ms, p95 %.1f ms", quantile(t.calm, 0.5), quantile(t.calm, 0.95))
	if t.answered != sent || t.twice+t.disorder+t.mixed > 0 {
		return errors.New("something was lost, shown twice, out of order or mixed up")
	}
	if sent == 0 || t.insights == 0 {
		return fmt.Errorf("the sim proves nothing: %s no message or no insight was made", simCallTitle)
	}
	return nil
}
