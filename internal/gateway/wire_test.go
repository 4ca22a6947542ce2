package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	gocmp "github.com/google/go-cmp/cmp"

	"openclaw/internal/testkit"
)

// TestWire plays testdata/*.txtar: what clients send (file "in") and what comes
// back (file "out", rewritten with -update). Everything happens in a bubble with
// its own clock, and after each line the world is quiet, so that the answers are
// exact. An optional file "config" holds the configuration.
//
//	open NAME [from=ADDR] [host=HOST] [header=NAME:VALUE]…
//	NAME {frame}      send a frame, or any other text
//	connect NAME {…}  send a connect with these params over the usual ones
//	close NAME
//	wait DURATION
//	mute EVENT…       leave out these events from now on
//	config {…}        replace the configuration
//	session KEY ID [TEXT[|TEXT]…]
//	                  store a session and what user and assistant said in turn
//	say ID TEXT       the run has said TEXT so far
//	run ID [TEXT]     the run says TEXT, if any, and ends
//
// Lines that begin with # are comments.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("glob testdata/*.txtar = %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ar := parseArchive(string(data))
			var got string
			synctest.Test(t, func(t *testing.T) { got = playWire(t, ar) })
			want := ar.files["out"]
			if testkit.Updating() {
				ar.set("out", got)
				if err := os.WriteFile(file, []byte(ar.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// archive is a text archive: a comment, then files, each after a line
// "-- name --".
type archive struct {
	comment string
	names   []string
	files   map[string]string
}

func parseArchive(text string) *archive {
	ar := &archive{files: map[string]string{}}
	into := ""
	for line := range strings.Lines(text) {
		name, _ := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, ok := strings.CutSuffix(name, " --"); ok {
			into = name
			ar.set(into, "")
			continue
		}
		if into == "" {
			ar.comment += line
		} else {
			ar.files[into] += line
		}
	}
	return ar
}

func (a *archive) set(name, text string) {
	if _, ok := a.files[name]; !ok {
		a.names = append(a.names, name)
	}
	a.files[name] = text
}

func (a *archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, name := range a.names {
		fmt.Fprintf(&b, "-- %s --\n%s", name, a.files[name])
	}
	return b.String()
}

// wirePlay is one script under way.
type wirePlay struct {
	t       *testing.T
	h       *house
	clients map[string]*wireClient
	names   []string
	out     bytes.Buffer
	ids     map[string]string
	mute    []string
}

// wireClient collects what a connection receives.
type wireClient struct {
	*wsClient
	mu    sync.Mutex
	lines []string
	done  chan struct{}
}

func playWire(t *testing.T, ar *archive) string {
	p := &wirePlay{t: t, clients: map[string]*wireClient{}, ids: map[string]string{}}
	p.h = newHouse(t, ar.files["config"])
	synctest.Wait()
	for line := range strings.Lines(ar.files["in"]) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&p.out, "> %s\n", line)
		p.step(line)
		synctest.Wait()
		p.flush()
	}
	for _, c := range p.clients {
		c.ws.CloseNow()
		<-c.done
	}
	p.h.close()
	return p.out.String()
}

func (p *wirePlay) step(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "open":
		p.open(strings.Fields(rest))
	case "connect":
		name, params, _ := strings.Cut(rest, " ")
		var over object
		if params != "" {
			if err := json.Unmarshal([]byte(params), &over); err != nil {
				p.t.Fatalf("%s: %v", line, err)
			}
		}
		p.clients[name].request("connect", hello(func(o object) {
			for k, v := range over {
				if o[k] = v; v == nil {
					delete(o, k)
				}
			}
		}))
	case "close":
		go p.clients[rest].ws.Close(websocket.StatusNormalClosure, "")
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(d)
	case "mute":
		p.mute = strings.Fields(rest)
	case "config":
		p.h.configure(rest)
	case "session":
		key, rest, _ := strings.Cut(rest, " ")
		id, said, _ := strings.Cut(rest, " ")
		p.h.seed(key, id, nil, strings.FieldsFunc(said, func(r rune) bool { return r == '|' })...)
	case "say":
		id, text, _ := strings.Cut(rest, " ")
		p.h.runner.do(id, func(r *scriptedRun) { r.say(text, text) })
	case "run":
		id, text, _ := strings.Cut(rest, " ")
		p.h.runner.finish(id, text)
	default:
		c := p.clients[word]
		if c == nil {
			p.t.Fatalf("no connection %q", word)
		}
		c.sendText(rest)
	}
}

func (p *wirePlay) open(args []string) {
	d := dialer{header: http.Header{}}
	for _, arg := range args[1:] {
		k, v, _ := strings.Cut(arg, "=")
		switch k {
		case "from":
			d.from = v
		case "host":
			d.host = v
		case "header":
			name, value, _ := strings.Cut(v, ":")
			d.header.Add(name, value)
		default:
			p.t.Fatalf("open: unknown option %q", arg)
		}
	}
	ws, err := p.h.tryDial(d)
	if err != nil {
		fmt.Fprintf(&p.out, "%s refused: %v\n", args[0], err)
		return
	}
	c := &wireClient{wsClient: ws, done: make(chan struct{})}
	p.clients[args[0]] = c
	p.names = append(p.names, args[0])
	go func() {
		defer close(c.done)
		for {
			text, err := c.nextText()
			c.mu.Lock()
			if err != nil {
				if code, reason, ok := closeOf(err); ok {
					c.lines = append(c.lines, fmt.Sprintf("closed %d %q", code, reason))
				}
				c.mu.Unlock()
				return
			}
			c.lines = append(c.lines, text)
			c.mu.Unlock()
		}
	}()
}

// flush writes what has arrived since the last time, connection by connection:
// events as they came, then responses by id, because requests run side by side.
func (p *wirePlay) flush() {
	for _, name := range p.names {
		c := p.clients[name]
		c.mu.Lock()
		lines := c.lines
		c.lines = nil
		c.mu.Unlock()
		slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(answers(a), answers(b)) })
		for _, line := range lines {
			if slices.ContainsFunc(p.mute, func(e string) bool { return strings.HasPrefix(line, `{"type":"event","event":"`+e+`"`) }) {
				continue
			}
			fmt.Fprintf(&p.out, "%s %s\n", name, p.normal(line))
		}
	}
}

// answers returns a key that puts everything but responses first.
func answers(line string) string {
	rest, ok := strings.CutPrefix(line, `{"type":"res","id":"`)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, `"`)
	return fmt.Sprintf("%9s", id)
}

var (
	uuidText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	selfText  = regexp.MustCompile(`\{"host":"testhost","ip":.*?,"mode":"gateway"`)
	tokenText = regexp.MustCompile(`"deviceToken":"[0-9a-f]{32}"`)
)

// normal replaces what is random, and shortens the lists that hello-ok repeats.
func (p *wirePlay) normal(line string) string {
	alias := func(kind string) func(string) string {
		return func(s string) string {
			if p.ids[s] == "" {
				n := 1
				for _, v := range p.ids {
					if strings.HasPrefix(v, "<"+kind) {
						n++
					}
				}
				p.ids[s] = fmt.Sprintf("<%s-%d>", kind, n)
			}
			return p.ids[s]
		}
	}
	line = uuidText.ReplaceAllStringFunc(line, alias("uuid"))
	line = tokenText.ReplaceAllString(line, `"deviceToken":"<token>"`)
	line = strings.ReplaceAll(line, p.h.dir, "~")
	line = selfText.ReplaceAllString(line, `{"host":"testhost",<this machine>,"mode":"gateway"`)
	line = strings.ReplaceAll(line, "testhost ("+ownAddr()+")", "testhost (<ip>)")
	for _, list := range []string{"methods", "events"} {
		if i := strings.Index(line, `"`+list+`":["`); i >= 0 {
			if end := strings.IndexByte(line[i:], ']'); end > 0 {
				line = line[:i] + fmt.Sprintf(`"%s":["<names>"]`, list) + line[i+end+1:]
			}
		}
	}
	return line
}
