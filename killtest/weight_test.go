package killtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

const (
	maxSize   = 42 << 20 // bytes of the program
	maxInit   = 1 << 20  // bytes that packages allocate before main
	maxAllocs = 8000
)

var initLine = regexp.MustCompile(`(?m)^init \S+ @.*, (\d+) bytes, (\d+) allocs$`)

// What every start pays, --version too: the size of the program and what packages
// allocate before main. A dependency that parses or registers things at start shows
// here, whatever the machine's speed. See docs/performance.md.
func TestWeight(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "openclaw")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "../cmd/openclaw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize {
		t.Errorf("the program has %d bytes, want at most %d", info.Size(), maxSize)
	}
	version := exec.Command(bin, "--version")
	version.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	version.Stderr = &trace
	if err := version.Run(); err != nil {
		t.Fatal(err)
	}
	size, allocs, packages := 0, 0, 0
	for _, m := range initLine.FindAllSubmatch(trace.Bytes(), -1) {
		n, _ := strconv.Atoi(string(m[1])) // digits, by the pattern
		a, _ := strconv.Atoi(string(m[2]))
		size, allocs, packages = size+n, allocs+a, packages+1
	}
	if packages < 10 {
		t.Fatalf("the trace of the start has %d packages:\n%s", packages, trace.Bytes())
	}
	if size > maxInit || allocs > maxAllocs {
		t.Errorf("packages allocate %d bytes in %d allocations before main, want at most %d in %d:\n%s", size, allocs, maxInit, maxAllocs, trace.Bytes())
	}
	t.Logf("%d bytes; before main %d bytes in %d allocations of %d packages", info.Size(), size, allocs, packages)
}
