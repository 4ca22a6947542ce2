package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// The scanner accepts what encoding/json accepts, and sees the same members.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,-2.5e+3,"x\u00e9\n",true,null]}}`, `{"a":1,}`, `{"a":01}`, `[1]`, `{"a":"` + "\x01" + `"}`,
		`{"a":"\ud800"}`, ` { "k" : [ ] , "k" : { } } `, `{"a":1`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		err := members(data, func(key, value []byte) error {
			got[unquote(key)] = bytes.Clone(value)
			return nil
		})
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		if string(bytes.TrimSpace(data)) == "null" || strings.Count(string(data), "{")+strings.Count(string(data), "[") > maxDepth {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("members(%q) = %v, encoding/json says %v", data, err, wantErr)
		}
		if err == nil && len(want)+len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("members(%q) = %q, want %q", data, got, want)
		}
		streamed := map[string]json.RawMessage{}
		streamErr := scanObject(iotest.OneByteReader(bytes.NewReader(data)), func(key string, off int64, value []byte) error {
			if !bytes.Equal(data[off:off+int64(len(value))], value) {
				t.Errorf("scanObject(%q): offset of %q is wrong", data, key)
			}
			streamed[key] = bytes.Clone(value)
			return nil
		})
		if !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) && ((streamErr == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got, streamed)) {
			t.Errorf("scanObject(%q) = %q, %v, members says %q, %v", data, streamed, streamErr, got, err)
		}
	})
}

// What the lenient reader makes of JSON is the same JSON.
func FuzzStandardize(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{a:'b',}`, "// x\n[1,]", `{"a":"\x41\u0041"}`, `/* */ {}`, `{'\
':.5}`, `{"a":"\ud83d\ude00"}`, `[0x1F, 1_0, +.5e1]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := standardize(data)
		if err == nil && !json.Valid(out) {
			t.Errorf("standardize(%q) = %q, which is no JSON", data, out)
		}
		var want any
		if json.Unmarshal(data, &want) != nil || bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxDepth {
			return
		}
		var got any
		if err != nil || json.Unmarshal(out, &got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("standardize(%q) = %q, %v, want %v", data, out, err, want)
		}
	})
}

// An entry survives reading and writing, whatever is in it.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"sessionId":"a","updatedAt":1,"origin":{"label":"x","y":1},"z":[1]}`))
	f.Add([]byte(`{"updatedAt":"x","inputTokens":1e3,"cliSessionIds":{"a":1},"room":"r","skillsSnapshot":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Entry
		if e.UnmarshalJSON(data) != nil {
			return
		}
		once, err := e.MarshalJSON()
		if err != nil || !json.Valid(once) {
			t.Fatalf("entry %q is written as %q, %v", data, once, err)
		}
		var again Entry
		if err := again.UnmarshalJSON(once); err != nil {
			t.Fatalf("entry %q does not read what it wrote, %q: %v", data, once, err)
		}
		twice, _ := again.MarshalJSON()
		if !bytes.Equal(once, twice) {
			t.Errorf("entry %q: %q, then %q", data, once, twice)
		}
	})
}

// Whatever a journal holds, replaying it twice gives what once gives, and the index
// written from it reads back.
func FuzzJournal(f *testing.F) {
	head := `{"type":"openclaw-sessions-journal","version":1,"pid":1,"startedAt":1}` + "\n"
	f.Add([]byte(head + `{"at":1,"key":"agent:main:a","entry":{"sessionId":"a"}}` + "\n" + `{"at":2,"key":"agent:main:a","entry":null}` + "\n"))
	f.Add([]byte(head + `{"at":1,"key":"","entry":{}}` + "\n" + `{"at":1,"key":"x"` + "\n"))
	f.Add([]byte("\x00\x00\n\n{}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := Open(Config{Dir: filepath.Join(dir, "none")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readJournal(bytes.NewReader(data), once.replayOne); err != nil {
			return // a newer format
		}
		written := indexOf(t, once)
		if _, err := readJournal(bytes.NewReader(data), once.replayOne); err != nil {
			t.Fatal(err)
		}
		if again := indexOf(t, once); !reflect.DeepEqual(written, again) {
			t.Errorf("replaying %q twice gives %v, once %v", data, again, written)
		}
		if len(written) != once.Count() {
			t.Errorf("index of %q has %d entries, the store %d", data, len(written), once.Count())
		}
	})
}

// indexOf is the sessions.json that a fold of s would write, read back.
func indexOf(t *testing.T, s *Store) map[string]string {
	t.Helper()
	w := &indexWriter{s: s, places: map[string]place{}}
	w.recs, w.base, w.irregular = s.snapshot()
	var out bytes.Buffer
	if err := w.write(&out); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Fatalf("index is no JSON: %s", out.Bytes())
	}
	got := map[string]string{}
	err := scanObject(bytes.NewReader(out.Bytes()), func(key string, off int64, value []byte) error {
		if p := w.places[key]; p.off != off || int(p.size) != len(value) {
			t.Errorf("place of %q = %+v, want %d, %d", key, p, off, len(value))
		}
		got[key] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Whatever is in a transcript, it can be read and gives a sound context and history.
func FuzzTranscript(f *testing.F) {
	samples, _ := filepath.Glob("testdata/session-*.jsonl")
	for _, path := range samples {
		if data, err := os.ReadFile(path); err == nil && len(data) < 6000 {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"type":"session","id":"x"}` + "\n" + `{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"n","arguments":{}}]}}`))
	f.Add([]byte(`{"type":"session","version":3,"id":"x"}` + "\n" + `{"type":"message","id":"a","parentId":"a","message":{"role":"user","content":5}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := loadScroll(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := &Transcript{tape: &tape{path: path, c: c}}
		checkPairs(t, "fuzz", context_(t, tr))
		if _, err := tr.State(); err != nil {
			t.Error(err)
		}
		if _, err := History(path, 0, 0); err != nil {
			t.Error(err)
		}
		var out bytes.Buffer
		if err := c.rewrite(&out, header{Type: lineSession, Version: 3, ID: "s"}, c.version < transcriptVersion); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("repaired line %q is no JSON", line)
			}
		}
	})
}
