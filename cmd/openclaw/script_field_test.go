package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdField sets a variable to a value inside a JSON file.
//
//	field HASH stdout hash
func cmdField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: field VARIABLE file path")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[1])), &doc); err != nil {
		ts.Fatalf("%s is no JSON document: %v", args[1], err)
	}
	value, found := walkJSON(doc, args[2])
	if !found {
		ts.Fatalf("%s in %s is absent", args[2], args[1])
	}
	ts.Setenv(args[0], jsonText(value))
}

// cmdLogField sets a variable to a field of the last line of a log file with a
// message.
//
//	logfield PIN gateway.log 'gateway ready' tlsSha256
func cmdLogField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: logfield VARIABLE file message path")
	}
	value, found := any(nil), false
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var doc any
		if json.Unmarshal([]byte(line), &doc) != nil {
			continue // another program's line
		}
		if message, _ := walkJSON(doc, "message"); message == args[2] {
			value, found = walkJSON(doc, args[3])
		}
	}
	if !found {
		ts.Fatalf("no line of %s says %q with %s", args[1], args[2], args[3])
	}
	ts.Setenv(args[0], jsonText(value))
}

// cmdTimes waits until a file holds a text a number of times.
//
//	times gateway.log 'gateway ready' 2
func cmdTimes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: times file text n")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	got := 0
	if !poll(context.Background(), 20*time.Second, func() bool {
		data, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		got = strings.Count(string(data), args[1])
		return got >= want
	}) {
		ts.Fatalf("%s holds %q %d times, want %d", args[0], args[1], got, want)
	}
}

// cmdProxy starts a proxy in front of a gateway and sets a variable to its URL:
// what comes through it is from afar.
//
//	proxy FAR $PORT
func cmdProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: proxy VARIABLE port")
	}
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + args[1]}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-Forwarded-For", "203.0.113.9")
		},
		ErrorLog: log.New(io.Discard, "", 0),
	})
	ts.Defer(server.Close)
	ts.Setenv(args[0], "ws"+strings.TrimPrefix(server.URL, "http"))
}

// cmdFill copies a file and fills @NAME@ in with variables.
//
//	fill openclaw.json $STATE/openclaw.json
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill from to")
	}
	text := regexp.MustCompile(`@[A-Z_]+@`).ReplaceAllStringFunc(ts.ReadFile(args[0]), func(name string) string {
		return ts.Getenv(strings.Trim(name, "@"))
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
