package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"openclaw/byo"
	"openclaw/internal/desktop"
	"openclaw/internal/disk"
	"openclaw/internal/relay"
	"openclaw/internal/relayclient"
)

const (
	demoSession  = "demo"
	demoQuestion = "Please note that Mr Thistlewick wants the draft on Friday."
	// A gateway without a model obeys such directives.
	demoOrder  = "say I have noted that Mr Thistlewick wants the draft on Friday."
	demoColumn = 62
)

//go:embed demo_call.vtt
var demoCall []byte

// demoCanaries are words of the call that nothing else holds.
var demoCanaries = []string{"Quillfeather", "Oxbloodline", "Zephyrhaven", "Marrowgate", "Thistlewick"}

// demoCommand shows all three sides. See docs/commands/stagewhisper/demo.md.
func demoCommand(p *program) *cobra.Command {
	var speed float64
	var keep, adapter bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a call on all three sides, without any key",
		Long: `Starts a relay, a desktop and a gateway as the assistant on this machine, pairs them with
the long code, plays a made-up call sixty times faster, and prints what the desktop knows
beside what the relay has stored. Then it looks for words of the call in every file of the
relay. The gateway is the openclaw that stands beside this program; without one, or with
--adapter, the adapter of this program is the assistant. Either works by rules, without a
model. Nothing of your own is touched.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.newStage("demo")
			if err != nil {
				return err
			}
			d := &demo{stage: s, speed: speed}
			if !adapter {
				err = d.findGateway()
			}
			if err == nil {
				err = d.run(cmd.Context())
			}
			if keep {
				p.io.Say("everything lies in %s", s.dir)
				return err
			}
			return errors.Join(err, os.RemoveAll(s.dir))
		},
	}
	cmd.Flags().Float64Var(&speed, "speed", 60, "how many times faster than it was said")
	cmd.Flags().BoolVar(&adapter, "adapter", false, "have the adapter be the assistant, not a gateway")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the throw-away folder")
	return cmd
}

type demo struct {
	*stage
	speed float64
	api   string
	// gateway runs the other program in the same place; nil for the adapter.
	gateway *stage
	seen    *recorder
	desk    *desk
	id      string // of the assistant

	mu    sync.Mutex
	found []desktop.Event // analyses
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.p.io.Out, format+"\n", args...) }

func (d *demo) run(ctx context.Context) error {
	began := time.Now()
	stop, err := d.raise(ctx)
	if err == nil {
		err = d.play(ctx)
	}
	if err == nil {
		err = d.talk(ctx)
	}
	var list []desktop.Message
	if err == nil {
		list, err = d.messages(ctx)
	}
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	d.compare(list)
	return d.conclude(began)
}

// raise starts the three sides and pairs them; stop ends what was started.
func (d *demo) raise(ctx context.Context) (stop func() error, err error) {
	var ends []func() error
	stop = func() error {
		var errs []error
		for _, end := range slices.Backward(ends) {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	at := time.Now()
	end, err := d.startRelay(ctx)
	if err != nil {
		return stop, err
	}
	ends = append(ends, end)
	d.say("relay      ready on %s after %s", d.api, time.Since(at).Round(time.Millisecond))
	if d.desk, err = d.p.startDesk(ctx, desktop.Config{Dir: d.path("desktop")}, "127.0.0.1:0"); err != nil {
		return stop, err
	}
	ends = append(ends, d.desk.close)
	if err := d.pair(ctx); err != nil {
		return stop, err
	}
	agent, err := d.startAssistant()
	if err != nil {
		return stop, err
	}
	ends = append(ends, func() error { return agent.stop(os.Interrupt) })
	var way struct {
		RoundTripMS int64 `json:"round_trip_ms"`
	}
	err = agent.until(ctx, "the assistant", func() bool {
		return d.desk.call(ctx, http.MethodPost, "/v1/assistants/"+d.id+"/test", struct{}{}, &way) == nil
	})
	what := "adapter"
	if d.gateway != nil {
		what = "gateway"
	}
	d.say("assistant  the "+what+" answers through the relay, %d ms there and back", way.RoundTripMS)
	return stop, err
}

// startRelay runs a relay as the relay command does, and notes what it stores.
func (d *demo) startRelay(ctx context.Context) (end func() error, err error) {
	f := relayFlags{Bind: "127.0.0.1:0", storeFlags: storeFlags{Data: d.path("relay")}, Registration: registerOpen, log: logFlags{file: d.path("relay.log"), level: "debug"}}
	cfg, err := f.config(d.p)
	if err != nil {
		return nil, err
	}
	log, closeLog, err := d.p.logger(f.log)
	if err != nil {
		return nil, err
	}
	n := &node{flags: &f, log: log, tls: &tls.Config{}}
	if n.listener, err = listen("--bind", f.Bind); err != nil {
		return nil, errors.Join(err, closeLog())
	}
	d.api = "http://" + n.listener.Addr().String()
	broker, err := f.open(ctx, log)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	d.seen = &recorder{Broker: broker, rows: map[string][]entry{}}
	cfg.Broker, cfg.Log = d.seen, log
	if n.relay, err = relay.New(cfg); err != nil {
		return nil, errors.Join(err, broker.Close(), closeLog())
	}
	run, cancel := context.WithCancel(ctx)
	var work errgroup.Group
	work.Go(func() error { return n.run(run) })
	return func() error {
		cancel()
		return errors.Join(work.Wait(), broker.Close(), closeLog())
	}, nil
}

// entry is all that can be told about something the relay stored.
type entry struct {
	id   string
	size int
	at   time.Time
}

// recorder notes the writes into the tables of a relay.
type recorder struct {
	relay.Broker

	mu   sync.Mutex
	rows map[string][]entry // jobs by id, frames under "frames"
}

// Put implements relay.Store.
func (r *recorder) Put(ctx context.Context, b relay.Bucket, key string, value []byte, revision uint64) (uint64, error) {
	rev, err := r.Broker.Put(ctx, b, key, value, revision)
	if err == nil && (b == relay.Jobs || b == relay.Messages) {
		_, id, _ := strings.Cut(key, ".")
		under := id
		if b == relay.Messages {
			under = "frames"
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rows[under] = append(r.rows[under], entry{id, len(value), time.Now()})
	}
	return rev, err
}

func (e entry) String() string {
	return fmt.Sprintf("%s  %s  %d bytes", e.at.Format("15:04:05.000"), e.id, e.size)
}

// pair carries the long code from the desktop to the assistant.
func (d *demo) pair(ctx context.Context) error {
	var step desktop.PairingStep
	if err := d.desk.call(ctx, http.MethodPost, "/v1/pairings", desktop.PairRequest{API: d.api, Label: "Studio", DesktopLabel: "demo", ProviderKind: d.kind()}, &step); err != nil {
		return err
	}
	if err := d.claim(step.Code); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, childReady)
	defer cancel()
	for step.State != byo.PairActive {
		if err := d.desk.call(limit, http.MethodGet, "/v1/pairings/"+step.ID, nil, &step); err != nil {
			return err
		}
		if step.Error != "" {
			return errors.New(step.Error)
		}
		if !relayclient.Sleep(limit, 20*time.Millisecond) {
			return errors.New("the pairing did not end")
		}
	}
	d.id = step.Assistant.ID
	d.say("pairing    long code, verified by its secret; both sides show %s", step.SAS)
	return nil
}

// findGateway looks for the gateway's program beside this one, and gives it a
// configuration in the throw-away place.
func (d *demo) findGateway() error {
	gateway := *d.stage
	gateway.bin = filepath.Join(filepath.Dir(d.bin), "openclaw")
	if _, err := os.Stat(gateway.bin); err != nil {
		d.p.io.Say("no openclaw stands beside this program, so its adapter is the assistant")
		return nil
	}
	conf, err := json.Marshal(map[string]any{
		"gateway": map[string]any{"mode": "local", "auth": map[string]any{"mode": "token", "token": rand.Text()}},
		"logging": map[string]any{"file": d.path("gateway.log")},
	})
	if err != nil {
		return err
	}
	if err := disk.MkdirAll(d.path(".openclaw")); err != nil {
		return err
	}
	d.gateway = &gateway
	return disk.WriteFile(d.path(".openclaw", "openclaw.json"), conf, 0o600)
}

// kind is that of the assistant.
func (d *demo) kind() string {
	if d.gateway != nil {
		return "openclaw"
	}
	return "offline"
}

// claim has the assistant take the code.
func (d *demo) claim(code string) error {
	if d.gateway != nil {
		_, err := d.gateway.run("stagewhisper", "pair", "--code", code, "--host-label", "box")
		return err
	}
	_, err := d.stage.run("assistant", "pair", "--code", code, "--provider-kind", d.kind(), "--host-label", "box")
	return err
}

func (d *demo) startAssistant() (*process, error) {
	if d.gateway != nil {
		return d.gateway.start("gateway", "run", "--port", "0")
	}
	return d.start("assistant", "run", "--backend", "offline")
}

// play feeds the call and collects what is found in it.
func (d *demo) play(ctx context.Context) error {
	segments, err := desktop.ParseFeed(demoCall)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer cancel()
	ready := make(chan error, 2) // of watch, and of its end
	watcher.Go(func() {
		ready <- d.desk.watch(ctx, func() error { ready <- nil; return nil }, func(e *desktop.Event) bool {
			if e.Kind == desktop.EventAnalysis {
				d.mu.Lock()
				d.found = append(d.found, *e)
				d.mu.Unlock()
			}
			return true
		})
	})
	if err := <-ready; err != nil {
		return err
	}
	if err := d.desk.call(ctx, http.MethodPost, "/v1/assistants/"+d.id+"/probe", struct{}{}, nil); err != nil {
		return err
	}
	if err := d.desk.call(ctx, http.MethodPost, "/v1/calls", desktop.CallRequest{AssistantID: d.id, SessionID: demoSession, Title: "Renewal", Situation: "Renewal of the Oxbloodline licence."}, nil); err != nil {
		return err
	}
	at := time.Now()
	err = desktop.Play(ctx, segments, d.speed, func(s desktop.Segment) error {
		return d.desk.call(ctx, http.MethodPost, "/v1/calls/"+demoSession+"/segments", map[string]any{"segments": []desktop.Segment{s}}, nil)
	})
	if err != nil {
		return err
	}
	d.say("call       %d remarks, %s of talk in %s", len(segments), time.Duration(segments[len(segments)-1].EndMS)*time.Millisecond, time.Since(at).Round(10*time.Millisecond))
	var sum *byo.SessionSummary
	if err := d.desk.call(ctx, http.MethodPost, sessionPath(demoSession, "/summary"), struct{}{}, &sum); err != nil {
		return err
	}
	if err := d.desk.endCall(ctx, demoSession); err != nil {
		return err
	}
	d.say("")
	printSummary(d.p.io.Out, sum)
	// The events of the last jobs may still be on their way.
	for range 100 {
		d.mu.Lock()
		n := len(d.found)
		done := n > 0 && d.found[n-1].Tab == desktop.TabChat
		d.mu.Unlock()
		if done || !relayclient.Sleep(ctx, 10*time.Millisecond) {
			break
		}
	}
	return nil
}

// talk says one thing in the conversation.
func (d *demo) talk(ctx context.Context) error {
	question := demoQuestion
	if d.gateway != nil {
		question = demoOrder
	}
	d.say("\nMe:        %s", question)
	return d.p.say(ctx, d.desk, d.id, demoSession, question, 10*time.Second)
}

func (d *demo) messages(ctx context.Context) ([]desktop.Message, error) {
	var list struct {
		Messages []desktop.Message `json:"messages"`
	}
	err := d.desk.call(ctx, http.MethodGet, sessionPath(demoSession, "/messages"), nil, &list)
	return list.Messages, err
}

// compare prints what each side has of the same work.
func (d *demo) compare(list []desktop.Message) {
	d.seen.mu.Lock()
	defer d.seen.mu.Unlock()
	d.say("\n%-*s | %s", demoColumn, "WHAT THE DESKTOP KNOWS", "WHAT THE RELAY STORED (the largest write of each)")
	d.say("%s-+-%s", strings.Repeat("-", demoColumn), strings.Repeat("-", 66))
	for _, e := range d.found {
		right := "nothing"
		if all := d.seen.rows[e.JobID]; len(all) > 0 {
			right = slices.MaxFunc(all, func(a, b entry) int { return a.size - b.size }).String()
		}
		d.row(known(&e), right)
	}
	frames := d.seen.rows["frames"]
	for _, m := range list {
		if m.Tab == desktop.TabChat {
			d.row(m.Role+": "+m.Content, nearest(frames, m))
		}
	}
	d.row("(typing and other signs of work)", fmt.Sprintf("%d sealed frames in all", len(frames)))
}

// nearest is the frame of a message: the last one that way before it changed last.
func nearest(frames []entry, m desktop.Message) string {
	way, found := "in.", "nothing"
	if m.Role == desktop.RoleAssistant {
		way = "out."
	}
	for _, f := range frames {
		if strings.HasPrefix(f.id, way) && (found == "nothing" || !f.at.After(m.UpdatedAt)) {
			found = f.String()
		}
	}
	return found
}

// known is an analysis in one line.
func known(e *desktop.Event) string {
	var a byo.LiveAnalysis
	if e.Tab == desktop.TabInsights && json.Unmarshal(e.Result, &a) == nil {
		if len(a.Signals) == 0 {
			return "nothing stands out"
		}
		return fmt.Sprintf("%s: %s", a.Signals[0].Severity, a.Signals[0].Message)
	}
	var s byo.SessionSummary
	if json.Unmarshal(e.Result, &s) == nil {
		return "summary: " + s.Summary
	}
	return ""
}

func (d *demo) row(left, right string) {
	r := []rune(strings.Join(strings.Fields(left), " "))
	if len(r) > demoColumn {
		r = append(r[:demoColumn-1], '…')
	}
	d.say("%-*s | %s", demoColumn, string(r), right)
}

// conclude prints the numbers and looks for words of the call at the relay.
func (d *demo) conclude(began time.Time) error {
	var took []float64
	for _, e := range d.found {
		took = append(took, e.TookMS)
	}
	slices.Sort(took)
	in, out := d.bytes()
	atRelay, files, size, err := scan(demoCanaries, d.path("relay"), d.path("relay.log"))
	if err != nil {
		return err
	}
	atDesktop, _, _, err := scan(demoCanaries, d.path("desktop"))
	if err != nil {
		return err
	}
	d.say("\njobs:                          %d", len(took))
	d.say("latency of a job:              p50 %.1f ms, p95 %.1f ms", quantile(took, 0.5), quantile(took, 0.95))
	d.say("bytes the relay saw:           %d in, %d out", in, out)
	d.say("files of the relay looked at:  %d, %d bytes", files, size)
	d.say("canary words on the desktop:   %d (so the search works)", atDesktop)
	d.say("canary words on the relay:     %d", atRelay)
	d.say("whole demo:                    %s", time.Since(began).Round(10*time.Millisecond))
	switch {
	case atRelay > 0:
		return errors.New("the relay has words of the call")
	case atDesktop == 0 || len(took) == 0 || files == 0:
		return errors.New("the demo proves nothing: there was nothing to find")
	}
	return nil
}

// bytes is what the relay wrote into its log at its end.
func (d *demo) bytes() (in, out int64) {
	data, _ := os.ReadFile(d.path("relay.log")) // conclude looks at it as well
	for line := range bytes.Lines(data) {
		var l struct {
			In  int64 `json:"bytes_in"`
			Out int64 `json:"bytes_out"`
		}
		if json.Unmarshal(line, &l) == nil && l.In > 0 {
			in, out = l.In, l.Out
		}
	}
	return in, out
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// scan counts words in the bytes of all files below the paths, as they are, in base64
// wherever they may begin, and in hex.
func scan(words []string, paths ...string) (found, files int, size int64, err error) {
	var needles [][]byte
	for _, w := range words {
		for _, form := range []string{w, strings.ToLower(w), hex.EncodeToString([]byte(w))} {
			needles = append(needles, []byte(form))
		}
		for shift := range 3 {
			text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), w...))
			needles = append(needles, []byte(text[(shift*8+5)/6:(shift+len(w))*8/6]))
		}
	}
	for _, p := range paths {
		err = errors.Join(err, filepath.WalkDir(p, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files, size = files+1, size+int64(len(data))
			for _, n := range needles {
				found += bytes.Count(data, n)
			}
			return nil
		}))
	}
	return found, files, size, err
}
