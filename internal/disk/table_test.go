package disk_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/disk"
)

func openTable(t testing.TB, path string) *disk.Table {
	t.Helper()
	table, err := disk.OpenTable(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

func content(table *disk.Table) string {
	var b strings.Builder
	for k, v := range table.All() {
		fmt.Fprintf(&b, "%s=%s ", k, v)
	}
	return b.String()
}

func apply(t testing.TB, table *disk.Table, changes ...disk.Change) {
	t.Helper()
	if err := table.Apply(changes...); err != nil {
		t.Fatal(err)
	}
}

func put(key, value string) disk.Change { return disk.Change{Key: key, Value: json.RawMessage(value)} }

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	table := openTable(t, path)
	apply(t, table, put("b", `1`), put("a", "{\n\"x\": 2}"))
	apply(t, table, put("c\n", `null`), put("b", `"<3>"`))
	apply(t, table, disk.Change{Key: "a"}, disk.Change{Key: "never"})
	const want = "b=\"<3>\" c\n=null "
	if got := content(table); got != want {
		t.Errorf("All = %q, want %q", got, want)
	}
	if err := table.Apply(put("d", `1`), put("e", `{`)); err == nil || table.Len() != 2 {
		t.Errorf("Apply of a value that is not JSON = %v with %d keys, want an error and nothing changed", err, table.Len())
	}
	table.Close()
	if err := table.Apply(put("d", `1`)); err == nil {
		t.Error("Apply after Close succeeds")
	}
	again := openTable(t, path)
	if got := content(again); strings.ReplaceAll(got, `\u003c3\u003e`, "<3>") != want {
		t.Errorf("after reopening All = %q, want %q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v %v, want mode 0600", info.Mode(), err)
	}
}

// Whatever a crash leaves of the last line, the transactions before it are whole and
// the next one works.
func TestTableAfterCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	table := openTable(t, path)
	apply(t, table, put("a", `1`), put("b", `1`))
	first, _ := os.Stat(path)
	apply(t, table, put("a", `2`), disk.Change{Key: "b"})
	table.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := int(first.Size()); cut <= len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := "a=1 b=1 "
		if cut == len(whole) {
			want = "a=2 "
		}
		table := openTable(t, path)
		if got := content(table); got != want {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
		apply(t, table, put("z", `9`))
		table.Close()
		if got := content(openTable(t, path)); got != want+"z=9 " {
			t.Fatalf("cut at %d, then a change: %q, want %q", cut, got, want+"z=9 ")
		}
		os.Remove(path + ".bad")
	}
}

func TestTableKeepsBadLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte("[[\"a\",1]]\nrubbish\n[[\"b\",2]]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := openTable(t, path)
	if got := content(table); got != "a=1 b=2 " {
		t.Errorf("All = %q", got)
	}
	apply(t, table, put("c", `3`))
	data, _ := os.ReadFile(path)
	bad, _ := os.ReadFile(path + ".bad")
	if strings.Contains(string(data), "rubbish") || string(bad) != "rubbish\n" {
		t.Errorf("the file is %q and beside it %q, want the bad line beside it", data, bad)
	}
}

// The file stays about as large as what is in it.
func TestTableStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	table := openTable(t, path)
	value := `"` + strings.Repeat("x", 20_000) + `"`
	for i := range 100 {
		apply(t, table, put(fmt.Sprint(i%3), value))
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 512<<10 {
		t.Errorf("the file has %d bytes for %d of content (%v)", info.Size(), 3*len(value), err)
	}
	table.Close()
	if got := openTable(t, path).Len(); got != 3 {
		t.Errorf("reopened: %d keys, want 3", got)
	}
}

func TestTableTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	table := openTable(t, path)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := range 50 {
				if err := table.Apply(put(fmt.Sprint(i, n%20), fmt.Sprint(n, strings.Repeat(" ", 4000)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	before := maps.Collect(table.All())
	table.Close()
	after := maps.Collect(openTable(t, path).All())
	if diff := cmp.Diff(trim(before), trim(after)); diff != "" || len(after) != 16*20 {
		t.Errorf("%d keys (-memory +file):\n%s", len(after), diff)
	}
}

func trim(m map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = strings.TrimSpace(string(v))
	}
	return out
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("[[\"a\",1]]\n"))
	f.Add([]byte("[[\"a\"]]\n[[\"a\",{}],[\"b\",[]]]\nx\n["))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		table := openTable(t, path)
		apply(t, table, put("zz", `1`))
		want := content(table)
		table.Close()
		if got := content(openTable(t, path)); got != want {
			t.Errorf("reopened %q, want %q", got, want)
		}
	})
}

func BenchmarkTableApply(b *testing.B) {
	table := openTable(b, filepath.Join(b.TempDir(), "t.jsonl"))
	value := `"` + strings.Repeat("x", 500) + `"`
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			apply(b, table, put(fmt.Sprint(i%500), value))
		}
	})
}
