package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// watch begins a measurement. The function that it returns ends it and gives the
// processor time of the gateway and the time by the clock. With [options.profile]
// the gateway is profiled meanwhile.
func (w *world) watch(o *options, name string) (finish func() (used, took time.Duration, err error), err error) {
	if err := w.fetch("/cpu/start", ""); err != nil {
		return nil, err
	}
	before, err := w.cpu()
	began := time.Now()
	return func() (used, took time.Duration, err error) {
		took = time.Since(began)
		after, err := w.cpu()
		return after - before, took, errors.Join(err, w.fetch("/cpu/stop", filepath.Join(o.profile, name+".cpu.pb.gz")), w.heap(o, name))
	}, err
}

// heap saves what the gateway holds, and before that, as it stands, how much.
func (w *world) heap(o *options, name string) error {
	if err := w.fetch("/memory", filepath.Join(o.profile, name+".memory.json")); err != nil {
		return err
	}
	return w.fetch("/heap", filepath.Join(o.profile, name+".heap.pb.gz"))
}

// fetch saves what the gateway's profiler answers, if there is one.
func (w *world) fetch(path, file string) error {
	if w.debug == "" {
		return nil
	}
	res, err := http.Get("http://" + w.debug + path)
	if err != nil {
		return fmt.Errorf("profile (is the binary built with -tags pprof?): %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile: %s: %s", res.Status, data)
	}
	if err != nil || file == "" {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
