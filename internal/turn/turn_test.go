package turn

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestContentReadsStringsAndBlocks(t *testing.T) {
	tests := []struct {
		in   string
		want Content
	}{
		{`"plain"`, Text("plain")},
		{`[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}]`,
			Content{{Type: BlockText, Text: "a"}, {Type: BlockImage, Data: "AA==", MimeType: "image/png"}}},
		{`null`, nil},
	}
	for _, tt := range tests {
		var got Content
		if err := json.Unmarshal([]byte(tt.in), &got); err != nil {
			t.Fatalf("Unmarshal(%s) = %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Unmarshal(%s) differs (-want +got):\n%s", tt.in, diff)
		}
	}
	var c Content
	if err := json.Unmarshal([]byte(`42`), &c); err == nil {
		t.Error("Unmarshal(42) succeeded, want an error")
	}
}

func TestMessageShape(t *testing.T) {
	at := time.UnixMilli(1767225618088)
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"user", User("a <b>", at),
			`{"role":"user","content":[{"type":"text","text":"a <b>"}],"timestamp":1767225618088}`},
		{"tool result", ToolResult(Block{ID: "c1", Name: "read"}, Text(""), false, nil, at),
			`{"role":"toolResult","content":[{"type":"text","text":""}],"toolCallId":"c1","toolName":"read","isError":false,"timestamp":1767225618088}`},
		{"empty assistant", Message{Role: RoleAssistant, StopReason: StopError, ErrorMessage: "x", Timestamp: 1},
			`{"role":"assistant","content":[],"stopReason":"error","errorMessage":"x","timestamp":1}`},
	}
	for _, tt := range tests {
		got, err := marshal(tt.in)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: marshal = %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
