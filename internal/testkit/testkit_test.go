package testkit

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// recorder is a test that notes failures instead of failing.
type recorder struct {
	testing.TB
	out    bytes.Buffer
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Output() io.Writer     { return &r.out }
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic(r) }
func (r *recorder) Fatal(...any)          { r.failed = true; panic(r) }
func (r *recorder) run(f func(testing.TB)) {
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, got string
		fail      bool
	}{{"hello.txt", "hello\n", false}, {"hello.txt", "other\n", true}, {"none.txt", "", true}} {
		r := &recorder{}
		r.run(func(tb testing.TB) { Golden(tb, tt.name, []byte(tt.got)) })
		if r.failed != tt.fail {
			t.Errorf("Golden(%q, %q) failed = %v, want %v", tt.name, tt.got, r.failed, tt.fail)
		}
	}
}

func TestGoldenUpdate(t *testing.T) {
	t.Chdir(t.TempDir())
	*update = true
	defer func() { *update = false }()
	Golden(t, "deep/new.txt", []byte("fresh"))
	got, err := os.ReadFile("testdata/deep/new.txt")
	if err != nil || string(got) != "fresh" {
		t.Errorf("golden file = %q, %v", got, err)
	}
}

func TestLog(t *testing.T) {
	r := &recorder{}
	Log(r).Debug("hello", "a", 1)
	if got := r.out.String(); !strings.Contains(got, "msg=hello a=1") || strings.Contains(got, "time=") {
		t.Errorf("log = %q", got)
	}
}
