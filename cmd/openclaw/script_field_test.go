package main

import (
	"encoding/json"

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
