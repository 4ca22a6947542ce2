package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"openclaw/internal/mockllm"
	"openclaw/internal/relay/jetstream/jetstreamtest"
)

// The scripts run the program itself: the test binary starts again as stagewhisper.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stagewhisper": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"port":  cmdPort,
			"ready": cmdReady,
			"json":  cmdJSON,
			"until": cmdUntil,
			"mode":  cmdMode,
			"grab":  cmdGrab,
			"model": cmdModel,
			"build": cmdBuild,
			"nats":  cmdNATS,
		},
	})
}

// setupScript gives every script a home and a temporary folder of its own, and none of
// the variables of the machine it runs on.
func setupScript(env *testscript.Env) error {
	vars := []string{"GORACE=atexit_sleep_ms=0", "NO_COLOR=1", "HOME=" + filepath.Join(env.WorkDir, "home"), "TMPDIR=" + filepath.Join(env.WorkDir, "tmp")}
	for _, v := range env.Vars {
		if strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "WORK=") {
			vars = append(vars, v)
		}
	}
	env.Vars = vars
	for _, dir := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// wait asks every few milliseconds until ok, for half a minute at most.
func wait(ok func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// cmdPort sets variables to free ports.
func cmdPort(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		port, err := freePort()
		ts.Check(err)
		ts.Setenv(name, strconv.Itoa(port))
	}
}

// cmdReady waits until a URL answers 200.
func cmdReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready URL")
	}
	if !wait(func() bool {
		resp, err := http.Get(args[0])
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}) {
		ts.Fatalf("%s never answered", args[0])
	}
}

// cmdJSON compares a value inside a JSON file; list elements are named by their index,
// "*" means any value.
//
//	json stdout assistants.0.verified psk
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json file path value")
	}
	v, found := jsonAt(ts, args[0], args[1])
	if match := found && (args[2] == "*" || v == args[2]); match == neg {
		ts.Fatalf("%s in %s is %q, want %s", args[1], args[0], v, args[2])
	}
}

// cmdGrab sets a variable to a value inside a JSON file, or with a text instead of a
// path, to the first word of a file that begins with it.
//
//	grab CODE out.txt stagewhisper-pair:v2:
func cmdGrab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: grab VARIABLE file begin-of-word|json:path")
	}
	if path, ok := strings.CutPrefix(args[2], "json:"); ok {
		v, found := jsonAt(ts, args[1], path)
		if !found {
			ts.Fatalf("%s has no %s", args[1], path)
		}
		ts.Setenv(args[0], v)
		return
	}
	found := ""
	if !wait(func() bool {
		data, _ := os.ReadFile(ts.MkAbs(args[1]))
		if args[1] == "stdout" || args[1] == "stderr" {
			data = []byte(ts.ReadFile(args[1]))
		}
		for _, line := range strings.SplitAfter(string(data), "\n") {
			for _, w := range strings.Fields(line) {
				if strings.HasPrefix(w, args[2]) && strings.HasSuffix(line, "\n") {
					found = w
				}
			}
		}
		return found != ""
	}) {
		ts.Fatalf("%s never held a word that begins with %s", args[1], args[2])
	}
	ts.Setenv(args[0], found)
}

func jsonAt(ts *testscript.TestScript, file, path string) (string, bool) {
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &doc); err != nil {
		ts.Fatalf("%s is no JSON document: %v", file, err)
	}
	for _, key := range strings.Split(path, ".") {
		switch node := doc.(type) {
		case map[string]any:
			next, ok := node[key]
			if !ok {
				return "absent", false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return "absent", false
			}
			doc = node[i]
		default:
			return "absent", false
		}
	}
	if s, ok := doc.(string); ok {
		return s, true
	}
	data, err := json.Marshal(doc)
	ts.Check(err)
	return string(data), true
}

// cmdUntil waits until a file holds a text.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until file text")
	}
	if !wait(func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && bytes.Contains(data, []byte(args[1]))
	}) {
		ts.Fatalf("%s never held %q:\n%s", args[0], args[1], ts.ReadFile(args[0]))
	}
}

// cmdMode compares the permissions of a file.
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode file 0600")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// cmdNATS starts a cluster of NATS servers, one when no number is given, and sets
// NATS_URL.
func cmdNATS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: nats [servers]")
	}
	n := 1
	if len(args) == 1 {
		var err error
		n, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	servers, err := jetstreamtest.Start(ts.MkAbs("nats"), n)
	ts.Check(err)
	ts.Defer(func() { ts.Check(servers.Close()) })
	ts.Setenv("NATS_URL", servers.URLs)
}

// cmdModel starts a model server with a key and sets MODEL_URL; the reply to a message
// without a cue is the given one.
func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: model [reply]")
	}
	cfg := mockllm.Config{APIKey: "mock-key-0123456789"}
	if len(args) == 1 {
		cfg.Default = args[0]
	}
	server := httptest.NewServer(mockllm.New(cfg))
	ts.Defer(server.Close)
	ts.Setenv("MODEL_URL", server.URL+"/v1")
}

// cmdBuild builds another program of this module.
//
//	build openclaw/cmd/openclaw $WORK/openclaw
func cmdBuild(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: build package file")
	}
	if out, err := exec.Command("go", "build", "-o", args[1], args[0]).CombinedOutput(); err != nil {
		ts.Fatalf("build %s: %v\n%s", args[0], err, out)
	}
}
