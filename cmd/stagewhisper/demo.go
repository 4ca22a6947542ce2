package main

import (
	"bytes"
	"cmp"
	"context"
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

	"openclaw/byo"
	"openclaw/internal/desktop"
	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relayclient"
)

const (
	demoSession  = "demo"
	demoQuestion = "Please note that Mr Thistlewick wants the draft on Friday."
	demoColumn   = 62
)

//go:embed demo_call.vtt
var demoCall []byte

// demoCanaries are words of the call that nothing else holds.
var demoCanaries = []string{"Quillfeather", "Oxbloodline", "Zephyrhaven", "Marrowgate", "Thistlewick"}

// demoCommand shows all three sides. See docs/commands/stagewhisper/demo.md.
func demoCommand(p *program) *cobra.Command {
	var speed float64
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a call on all three sides, without any key",
		Long: `Starts a relay, a desktop and an assistant on this machine, pairs them with the long code,
plays a made-up call sixty times faster, and prints what the desktop knows beside what the
relay has stored. Then it looks for words of the call in every file of the relay. The
assistant works by rules, without a model. Nothing of your own is touched.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.newStage("demo")
			if err != nil {
				return err
			}
			d := &demo{stage: s, speed: speed}
			err = d.run(cmd.Context())
			if keep {
				p.io.Say("everything lies in %s", s.dir)
				return err
			}
			return errors.Join(err, os.RemoveAll(s.dir))
		},
	}
	cmd.Flags().Float64Var(&speed, "speed", 60, "how many times faster than it was said")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the throw-away folder")
	return cmd
}

type demo struct {
	*stage
	speed float64
	api   string
	relay *process
	desk  *desk
	id    string // of the assistant

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
	if err := d.compare(ctx, list); err != nil {
		return err
	}
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
	port, err := freePort()
	if err != nil {
		return stop, err
	}
	d.api = fmt.Sprintf("http://127.0.0.1:%d", port)
	at := time.Now()
	if d.relay, err = d.start("relay", "--bind", strings.TrimPrefix(d.api, "http://"), "--registration", "open", "--data", d.path("relay"), "--log", d.path("relay.log"), "--log-level", "debug", "--drain", "0s"); err != nil {
		return stop, err
	}
	ends = append(ends, func() error { return d.relay.stop(os.Interrupt) })
	if err := d.relay.until(ctx, "the relay", func() bool { return answers(d.api + "/readyz") }); err != nil {
		return stop, err
	}
	d.say("relay      ready on %s after %s", d.api, time.Since(at).Round(time.Millisecond))
	if d.desk, err = d.p.startDesk(ctx, desktop.Config{Dir: d.path("desktop")}, "127.0.0.1:0"); err != nil {
		return stop, err
	}
	ends = append(ends, d.desk.close)
	if err := d.pair(ctx); err != nil {
		return stop, err
	}
	agent, err := d.start("assistant", "run", "--backend", "offline")
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
	d.say("assistant  answers through the relay, %d ms there and back", way.RoundTripMS)
	return stop, err
}

// pair carries the long code from the desktop to the assistant.
func (d *demo) pair(ctx context.Context) error {
	var step desktop.PairingStep
	if err := d.desk.call(ctx, http.MethodPost, "/v1/pairings", desktop.PairRequest{API: d.api, Label: "Studio", DesktopLabel: "demo", ProviderKind: "offline"}, &step); err != nil {
		return err
	}
	if _, err := d.stage.run("assistant", "pair", "--code", step.Code, "--provider-kind", "offline", "--host-label", "box"); err != nil {
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
	d.say("\nMe:        %s", demoQuestion)
	return d.p.say(ctx, d.desk, d.id, demoSession, demoQuestion, 10*time.Second)
}

func (d *demo) messages(ctx context.Context) ([]desktop.Message, error) {
	var list struct {
		Messages []desktop.Message `json:"messages"`
	}
	err := d.desk.call(ctx, http.MethodGet, sessionPath(demoSession, "/messages"), nil, &list)
	return list.Messages, err
}

// compare prints what each side has of the same work.
func (d *demo) compare(ctx context.Context, list []desktop.Message) error {
	b, err := jetstream.Open(ctx, jetstream.Config{Dir: d.path("relay", "store")})
	if err != nil {
		return err
	}
	defer b.Close()
	jobs, err := stored(ctx, b, relay.Jobs)
	if err != nil {
		return err
	}
	frames, err := stored(ctx, b, relay.Messages)
	if err != nil {
		return err
	}
	d.say("\n%-*s | %s", demoColumn, "WHAT THE DESKTOP KNOWS", "WHAT THE RELAY HAS STORED")
	d.say("%s-+-%s", strings.Repeat("-", demoColumn), strings.Repeat("-", 52))
	for _, e := range d.found {
		d.row(known(&e), jobs[e.JobID])
	}
	rest := slices.Sorted(func(yield func(string) bool) {
		for id := range frames {
			if !yield(id) {
				return
			}
		}
	})
	for _, m := range list {
		if m.Tab == desktop.TabChat {
			entry := ""
			if len(rest) > 0 {
				entry, rest = frames[rest[0]], rest[1:]
			}
			d.row(m.Role+": "+m.Content, entry)
		}
	}
	for _, id := range rest {
		d.row("(a sign of work, or a new key)", frames[id])
	}
	return nil
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
	d.say("%-*s | %s", demoColumn, string(r), cmp.Or(right, "nothing any more"))
}

// stored lists a table by the last part of the key: ids, sizes and times are all that
// can be told about an entry.
func stored(ctx context.Context, b *jetstream.Broker, bucket relay.Bucket) (map[string]string, error) {
	list, err := b.List(ctx, bucket, "")
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, e := range list {
		_, id, _ := strings.Cut(e.Key, ".")
		rows[id] = fmt.Sprintf("%s %6d bytes, entry %d", id, len(e.Value), e.Revision)
	}
	return rows, nil
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
