package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/disk"
)

const (
	failedStarts     = 3 // a service manager would start the gateway again and again
	failedWithin     = 10 * time.Minute
	safeModePoll     = time.Second
	failedStartsFile = "failed-starts.json"
)

// failures remembers when the gateway could not start because of its config file.
type failures struct {
	At []time.Time `json:"at"`
}

// recent reads the failures that still count.
func (p *program) recentFailures(now time.Time) (f failures) {
	data, err := disk.ReadFile(p.paths.State(failedStartsFile), 1<<16)
	if err != nil || json.Unmarshal(data, &f) != nil {
		return failures{}
	}
	var recent []time.Time
	for _, at := range f.At {
		if d := now.Sub(at); d >= 0 && d < failedWithin {
			recent = append(recent, at)
		}
	}
	return failures{recent}
}

// failedStart remembers one more. Where nothing can be written nothing is remembered.
func (p *program) failedStart(f failures, now time.Time) {
	f.At = append(f.At, now)
	data, err := json.Marshal(f)
	if err == nil && disk.MkdirAll(p.paths.StateDir) == nil {
		_ = disk.WriteFile(p.paths.State(failedStartsFile), data, 0o600)
	}
}

// startable returns a config file that is valid. The first times an invalid one is an
// error, as a person at the terminal wants it. When that happened three times within
// ten minutes, somebody starts the gateway automatically: then it takes the last valid
// copy, or waits in safe mode until the file is repaired.
func (p *program) startable(ctx context.Context, f *runFlags) (*config.File, error) {
	open := func(lastGood bool) *config.File {
		return config.Open(config.Options{Paths: p.paths, Env: os.Getenv, Version: version, AllowLastGood: lastGood})
	}
	file := open(f.allowLastGood)
	if file.Snapshot().Valid {
		_ = os.Remove(p.paths.State(failedStartsFile))
		return file, nil
	}
	failed := p.recentFailures(time.Now())
	if len(failed.At) < failedStarts {
		p.failedStart(failed, time.Now())
		return nil, p.invalidConfig(file.Snapshot())
	}
	if good := open(true); good.Snapshot().Valid {
		f.allowLastGood = true
		fmt.Fprintf(p.io.Err, "The config file was invalid at the last %d starts: using its last valid copy until it is repaired.\n", len(failed.At))
		return good, nil
	}
	return p.safeMode(ctx, f, open)
}

// safeMode serves nothing but the answer that this gateway is not well, until the
// config file is valid.
func (p *program) safeMode(ctx context.Context, f *runFlags, open func(bool) *config.File) (*config.File, error) {
	problem := p.invalidConfig(open(false).Snapshot())
	port := config.DefaultPort
	if n, err := strconv.Atoi(os.Getenv("OPENCLAW_GATEWAY_PORT")); err == nil {
		port = n
	}
	if f.port > 0 {
		port = f.port
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, problem // nobody could ask anyway
	}
	server := &http.Server{Handler: http.HandlerFunc(notWell), ReadHeaderTimeout: 5 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // it ends with Close
	defer func() { server.Close(); serving.Wait() }()
	fmt.Fprintf(p.io.Err, "Safe mode: %v.\nThe gateway answers only health checks, on %s, and starts by itself when the file is repaired (%s doctor).\n", problem, l.Addr(), p.name)
	tick := time.NewTicker(safeModePoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if file := open(false); file.Snapshot().Valid {
				_ = os.Remove(p.paths.State(failedStartsFile))
				return file, nil
			}
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// notWell answers in safe mode. What is wrong with the file is for its owner to read,
// not for whoever reaches the port.
func notWell(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	status := http.StatusServiceUnavailable
	if p := strings.TrimSuffix(r.URL.Path, "z"); p == "/health" && r.Method == http.MethodGet {
		status = http.StatusOK // it is alive
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"ok":false,"safeMode":true,"reason":"the config file is invalid"}` + "\n"))
}
