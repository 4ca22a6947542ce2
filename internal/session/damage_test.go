package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

// openBytes opens a transcript with the given content, answers one more turn and
// returns the context the model got.
func openBytes(t *testing.T, name, data string) []turn.Message {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	write(t, path, data)
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatalf("%s: Open = %v", name, err)
	}
	tr, err := s.OpenTranscript(background, TranscriptOptions{SessionID: "s", SyntheticResults: true})
	if err != nil {
		t.Fatalf("%s: OpenTranscript = %v", name, err)
	}
	say(t, tr, user("one more"))
	msgs := context_(t, tr)
	checkPairs(t, name, msgs)
	say(t, tr, assistant(text("sure")))
	closeTranscript(t, tr)
	if _, err := History(path, 0, 0); err != nil {
		t.Errorf("%s: History = %v", name, err)
	}
	keepsBytes(t, name, dir, data)
	return msgs
}

// keepsBytes checks that every original byte is still somewhere: in the file or in
// a copy beside it. A torn last line may have been given its newline.
func keepsBytes(t *testing.T, name, dir, data string) {
	t.Helper()
	if !strings.Contains(data, `"assistant"`) {
		return // held nothing but a header, which the first flush replaces
	}
	for _, f := range names(t, dir) {
		if strings.HasPrefix(read(t, filepath.Join(dir, f)), data) {
			return
		}
	}
	t.Errorf("%s: the original bytes are gone", name)
}

// RT-026, P7: a transcript that ends at any byte can be read, and a strict provider
// accepts what is left of it.
func TestEveryPrefixReads(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	for _, sample := range sampleTranscripts(t) {
		data := read(t, sample)
		path := filepath.Join(t.TempDir(), "s.jsonl")
		write(t, path, data)
		step := 1
		if len(data) > 4000 {
			step = 13
		}
		for cut := len(data); cut >= 0; cut -= step {
			if err := os.Truncate(path, int64(cut)); err != nil {
				t.Fatal(err)
			}
			c, err := loadScroll(path)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", sample, cut, err)
			}
			tr := &Transcript{tape: &tape{s: s, path: path, c: c}}
			msgs := context_(t, tr)
			checkPairs(t, fmt.Sprintf("%s cut at %d", sample, cut), msgs)
			if whole := strings.Count(data[:cut], `"role": "user"`); whole > 1 && len(msgs) == 0 {
				t.Errorf("%s cut at %d: nothing left", sample, cut)
			}
		}
	}
}

// RT-026, P7: after a cut in a line, the next turn works and no byte is lost.
func TestTornTranscriptGoesOn(t *testing.T) {
	for _, sample := range sampleTranscripts(t) {
		data := read(t, sample)
		off := 0
		for i, line := range strings.SplitAfter(data, "\n") {
			for _, cut := range []int{0, 1, len(line) / 2, len(line) - 1} {
				if cut < 0 || cut > len(line) || i > 8 && i%3 != 0 {
					continue
				}
				msgs := openBytes(t, fmt.Sprintf("%s cut at %d", sample, off+cut), data[:off+cut])
				if i > 6 && len(msgs) < 2 {
					t.Errorf("%s cut at %d: only %d messages left", sample, off+cut, len(msgs))
				}
			}
			off += len(line)
		}
	}
}

// P7: lines dropped, repeated, swapped or damaged: a strict provider accepts what
// is left, and earlier history stays reachable.
func TestDamagedLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, sample := range sampleTranscripts(t) {
		lines := strings.SplitAfter(read(t, sample), "\n")
		for i := 1; i < len(lines); i += 2 {
			drop := slices.Delete(slices.Clone(lines), i, i+1)
			twice := slices.Insert(slices.Clone(lines), i, lines[i])
			torn := slices.Clone(lines)
			torn[i] = torn[i][:len(torn[i])/2] + "\n"
			for name, l := range map[string][]string{"drop": drop, "twice": twice, "torn": torn} {
				msgs := openBytes(t, fmt.Sprintf("%s %s %d", sample, name, i), strings.Join(l, ""))
				if i > 7 && len(msgs) < 2 {
					t.Errorf("%s %s %d: only %v left", sample, name, i, outline(msgs))
				}
			}
		}
		for range 3 {
			l := slices.Clone(lines[1:])
			r.Shuffle(len(l), func(a, b int) { l[a], l[b] = l[b], l[a] })
			openBytes(t, sample+" shuffled", lines[0]+strings.Join(l, ""))
		}
		// A header that is gone costs nothing but the header.
		if msgs := openBytes(t, sample+" headless", strings.Join(lines[1:], "")); len(msgs) < 2 {
			t.Errorf("%s headless: only %v left", sample, outline(msgs))
		}
	}
	for _, data := range []string{"", "\n", "garbage", "{}", `{"type":"session"}`, "\x00\x00", `{"type":"message","message":{}}`, "[1]\n"} {
		openBytes(t, fmt.Sprintf("%q", data), data)
	}
}

// RT-026: the repair drops what is no JSON, keeps the other lines byte for byte and
// the original beside the file.
func TestRepairKeepsACopy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	good := []string{
		`{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/","custom": 1}`,
		`{"type": "message", "id": "aaaaaaaa", "parentId": null, "message": {"role":"user","content":"hi","x":1}}`,
		`{"neither":"type nor id"}`,
		`{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","message":{"role":"assistant","content":[{"type":"text","text":"ho"}]}}`,
	}
	data := good[0] + "\n" + good[1] + "\n{\"type\":\"mess\n" + good[2] + "\n\n" + good[3] + "\nnonsense"
	write(t, path, data)
	c := newClock()
	s := openStore(t, Config{Dir: dir, Now: c.now})
	tr := openTranscript(t, s, "s")
	if got, want := read(t, path), strings.Join(good, "\n")+"\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	name := fmt.Sprintf("s.jsonl.bak-%d-%d", os.Getpid(), c.now().UnixMilli())
	if got := read(t, filepath.Join(dir, name)); got != data {
		t.Errorf("copy = %q, want the original", got)
	}
	if got := outline(context_(t, tr)); !cmp.Equal(got, []string{"user:hi", "assistant:ho"}) {
		t.Errorf("context = %v", got)
	}
	closeTranscript(t, tr)
	closeTranscript(t, openTranscript(t, s, "s"))
	if got := hasPrefix(names(t, dir), "s.jsonl.bak-"); len(got) != 1 {
		t.Errorf("copies = %v, want one: a sound file is not repaired again", got)
	}
}

// RT-026: versions 1 and 2 are upgraded in the file.
func TestMigration(t *testing.T) {
	tests := []struct {
		name, data string
		want       []string
	}{
		{"version 1", `{"type":"session","id":"s","timestamp":"t","cwd":"/"}
{"type":"message","timestamp":"t","message":{"role":"user","content":"old"}}
{"type":"message","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"old answer"}]}}
{"type":"message","timestamp":"t","message":{"role":"user","content":"kept"}}
{"type":"compaction","timestamp":"t","summary":"sum","firstKeptEntryIndex":3,"tokensBefore":5}
{"type":"message","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"answer"}]}}
`, []string{"user:kept", "assistant:answer"}},
		{"version 2", `{"type":"session","version":2,"id":"s","timestamp":"t","cwd":"/"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage","customType":"x","content":"from a hook","timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"answer"}]}}
`, []string{"user:from a hook", "assistant:answer"}},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		path := filepath.Join(dir, "s.jsonl")
		write(t, path, tt.data)
		s := openStore(t, Config{Dir: dir})
		tr := openTranscript(t, s, "s")
		got := outline(context_(t, tr))
		if tt.name == "version 1" {
			got = got[1:] // the summary
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: context (-want +got):\n%s", tt.name, diff)
		}
		say(t, tr, user("next"))
		closeTranscript(t, tr)
		after := lines(t, path)
		if after[0]["version"] != float64(3) {
			t.Errorf("%s: header = %v", tt.name, after[0])
		}
		ids := map[any]bool{nil: true}
		for _, l := range after[1:] {
			if !ids[l["parentId"]] || l["id"] == nil || ids[l["id"]] {
				t.Errorf("%s: line %v does not fit the chain", tt.name, l)
			}
			ids[l["id"]] = true
			if m, ok := l["message"].(map[string]any); ok && m["role"] == "hookMessage" {
				t.Errorf("%s: old role in %v", tt.name, l)
			}
			if l["firstKeptEntryIndex"] != nil {
				t.Errorf("%s: old field in %v", tt.name, l)
			}
		}
		if got := hasPrefix(names(t, dir), "s.jsonl.bak-"); len(got) != 1 || read(t, filepath.Join(dir, got[0])) != tt.data {
			t.Errorf("%s: copies = %v, want the original", tt.name, got)
		}
	}
}

// RT-026a: what chat.inject of the reference writes does not cut the history off.
func TestLinesWithoutParent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "s.jsonl"), `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"t","message":{"role":"user","content":"a"}}
{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"b"}]}}
{"type":"message","id":"8d7a1b2c","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"injected"}],"stopReason":"injected","usage":{"input":0,"output":0,"totalTokens":0}}}
{"type":"message","id":"dddddddd","parentId":"cut away","timestamp":"t","message":{"role":"user","content":"c"}}
{"type":"message","id":"eeeeeeee","parentId":"dddddddd","timestamp":"t","message":{"role":"assistant","content":"d"}}
`)
	tr := openTranscript(t, openStore(t, Config{Dir: dir}), "s")
	want := []string{"user:a", "assistant:b", "assistant:injected", "user:c", "assistant:d"}
	if diff := cmp.Diff(want, outline(context_(t, tr))); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

// Lines of other programs: what a model sees of them, and what it does not.
func TestForeignLines(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "s.jsonl"), `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}
{"type":"label","id":"l","targetId":"x","label":"y"}
{"type":"session_info","id":"i","name":"n"}
{"type":"custom","id":"c","customType":"secret","data":{"text":"hidden"}}
{"type":"custom_message","id":"m","customType":"k","content":"shown","display":false}
{"type":"branch_summary","id":"b","fromId":"x","summary":"branch"}
{"type":"branch_summary","id":"b2","fromId":"x","summary":" "}
{"type":"message","id":"x1","message":{"role":"bashExecution","command":"ls","output":"out","exitCode":2,"timestamp":3}}
{"type":"message","id":"x2","message":{"role":"bashExecution","command":"secret","output":"","excludeFromContext":true}}
{"type":"message","id":"x3","message":{"role":"compactionSummary","summary":"compact"}}
{"type":"message","id":"x4","message":{"role":"alien","content":"?"}}
{"type":"message","id":"x5","message":"not an object"}
{"type":"invented_later","id":"x6","payload":1}
{"type":"message","id":"x7","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"exec","arguments":{"a":1},"partialJson":"{"},{"type":"toolCall","id":"2","name":"exec"}]}}
{"type":"message","id":"x8","message":{"role":"toolResult","toolCallId":"1","toolName":"exec","content":[]}}
`)
	tr := openTranscript(t, openStore(t, Config{Dir: dir}), "s")
	msgs := context_(t, tr)
	var all strings.Builder
	for _, m := range msgs {
		all.WriteString(m.Text() + "\n")
	}
	for _, want := range []string{"shown", "<summary>\nbranch\n</summary>", "```\nls\n```", "out", "exit code 2", "<summary>\ncompact\n</summary>"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("context lacks %q: %s", want, all.String())
		}
	}
	if strings.Contains(all.String(), "hidden") || strings.Contains(all.String(), "secret") {
		t.Errorf("context shows what it must not: %s", all.String())
	}
	last := outline(msgs)
	if got := last[len(last)-2:]; !cmp.Equal(got, []string{"assistant:[1]", "result:1"}) {
		t.Errorf("calls = %v", got)
	}
	say(t, tr, user("on"))
	closeTranscript(t, tr)
	if strings.Count(read(t, tr.Path()), "partialJson") != 1 {
		t.Error("the file was rewritten")
	}
}
