//go:build pprof

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
)

// serveProfiles lets the bench take profiles of this process at the address in
// OPENCLAW_PPROF. Only binaries built with -tags pprof have it.
// See docs/performance.md.
func serveProfiles() (stop func()) {
	l, err := net.Listen("tcp", os.Getenv("OPENCLAW_PPROF"))
	if err != nil {
		panic(err) // nobody builds this by accident
	}
	var cpu bytes.Buffer
	mux := http.NewServeMux()
	mux.HandleFunc("/cpu/start", func(w http.ResponseWriter, _ *http.Request) {
		cpu.Reset()
		if err := pprof.StartCPUProfile(&cpu); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("/cpu/stop", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		w.Write(cpu.Bytes())
	})
	mux.HandleFunc("/heap", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		pprof.Lookup("heap").WriteTo(w, 0)
	})
	mux.HandleFunc("/memory", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		json.NewEncoder(w).Encode(map[string]uint64{"sys": m.Sys, "heapAlloc": m.HeapAlloc, "heapInuse": m.HeapInuse, "heapIdle": m.HeapIdle,
			"heapReleased": m.HeapReleased, "stackInuse": m.StackInuse, "gcSys": m.GCSys, "otherSys": m.OtherSys + m.MSpanSys + m.MCacheSys + m.BuckHashSys,
			"nextGC": m.NextGC, "numGC": uint64(m.NumGC), "goroutines": uint64(runtime.NumGoroutine())})
	})
	server := &http.Server{Handler: mux}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	return func() {
		server.Close()
		serving.Wait()
	}
}
