package conformance

import (
	"fmt"
	"strings"
)

// checkSequence checks the numbers that [comparer] leaves out: the seq of
// broadcasts counts from 1 without gaps on each connection, targeted events have
// none, state versions and the seq of a run never go back. See GW-080.
func checkSequence(frames []*Frame) []Diff {
	var diffs []Diff
	next := int64(1)
	versions, runs := map[string]int64{}, map[string]int64{}
	for _, f := range frames {
		if str(f.body, "type") != "event" {
			continue
		}
		if seq, err := number(f.body["seq"]); err == nil {
			if seq != next {
				diffs = append(diffs, Diff{Path: f.Key, Kind: Value, Want: fmt.Sprint("seq ", next), Got: fmt.Sprint("seq ", seq)})
			}
			next = seq + 1
		}
		if v, ok := f.body["stateVersion"].(map[string]any); ok {
			for k, n := range v {
				at, err := number(n)
				if err != nil || at < versions[k] {
					diffs = append(diffs, Diff{Path: f.Key, Kind: Value, Want: fmt.Sprint(k, " version of at least ", versions[k]), Got: fmt.Sprint(n)})
				}
				versions[k] = at
			}
		}
		if str(f.body, "event") == "agent" {
			payload, _ := f.body["payload"].(map[string]any)
			id := str(payload, "runId")
			seq, err := number(payload["seq"])
			if err != nil || seq <= runs[id] {
				diffs = append(diffs, Diff{Path: f.Key, Kind: Value, Want: fmt.Sprint("run seq above ", runs[id]), Got: fmt.Sprint(seq)})
			}
			runs[id] = seq
		}
	}
	return diffs
}

// checkChats checks the chat events of runs: each delta continues the one before,
// the final one as well, and nothing comes after the end. See GW-084.
func checkChats(frames []*Frame) []Diff {
	var diffs []Diff
	said, ended := map[string]string{}, map[string]bool{}
	for _, f := range frames {
		if str(f.body, "event") != "chat" {
			continue
		}
		payload, _ := f.body["payload"].(map[string]any)
		id, state, now := str(payload, "runId"), str(payload, "state"), firstText(payload["message"])
		if ended[id] {
			diffs = append(diffs, Diff{Path: f.Key, Kind: Value, Want: "nothing after the end", Got: text(payload)})
		}
		if payload["message"] != nil && state != "aborted" && !strings.HasPrefix(now, said[id]) {
			diffs = append(diffs, Diff{Path: f.Key, Kind: Value, Want: "a continuation of " + said[id], Got: now})
		}
		said[id], ended[id] = now, state != "delta"
	}
	return diffs
}
