package gateway

import (
	"encoding/json"
	"strconv"
	"time"

	"openclaw/internal/run"
	"openclaw/protocol"
)

// Verbose levels, which decide how much of a tool call is told.
const (
	verboseOff  = "off"
	verboseOn   = "on"
	verboseFull = "full"
)

// agentPayload encodes e around its encoded data. It is written by hand because
// encoding/json would validate and copy the data, the big part, once more.
func agentPayload(e run.Event, data []byte) []byte {
	b := make([]byte, 0, len(data)+len(e.RunID)+len(e.SessionKey)+120)
	b = append(b, `{"runId":`...)
	b = appendString(b, string(e.RunID))
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, int64(e.Seq), 10)
	b = append(b, `,"stream":`...)
	b = appendString(b, string(e.Stream))
	b = append(b, `,"ts":`...)
	b = strconv.AppendInt(b, e.At.UnixMilli(), 10)
	b = append(b, `,"data":`...)
	b = append(b, data...)
	if e.SessionKey != "" {
		b = append(b, `,"sessionKey":`...)
		b = appendString(b, e.SessionKey)
	}
	return append(b, '}')
}

// eventData returns the data object of e as the protocol has it; tool events
// depend on who reads them and go through toolData. An event without a payload
// has none.
func eventData(e run.Event) any {
	switch {
	case e.Lifecycle != nil:
		return lifecycleData(*e.Lifecycle)
	case e.Assistant != nil:
		return protocol.AssistantData{Text: e.Assistant.Text, Delta: e.Assistant.Delta, MediaURLs: e.Assistant.MediaURLs}
	case e.Compaction != nil:
		d := protocol.CompactionData{Phase: string(e.Compaction.Phase)}
		if e.Compaction.Phase == run.PhaseEnd {
			d.WillRetry = &e.Compaction.WillRetry
		}
		return d
	}
	return nil
}

func lifecycleData(l run.Lifecycle) protocol.LifecycleData {
	d := protocol.LifecycleData{Phase: string(l.Phase), StartedAt: millis(l.StartedAt)}
	if l.Terminal() {
		d.EndedAt = millis(l.EndedAt)
		d.Aborted = l.Aborted
		// A plain end says nothing new about the start; the reference leaves it
		// out, and clients know it from the start event.
		if l.Phase == run.PhaseEnd && !l.Aborted {
			d.StartedAt = 0
		}
	}
	if l.Phase == run.PhaseError {
		d.Error = l.Error
	}
	return d
}

// toolData is what a connection is told about a tool call at a verbose level.
// Terse is the form for connections with the tool-status cap at level off.
func toolData(t run.Tool, level string) protocol.ToolData {
	d := protocol.ToolData{Phase: string(t.Phase), Name: t.Name, ToolCallID: t.CallID}
	terse := level == verboseOff
	switch t.Phase {
	case run.PhaseStart:
		if !terse {
			d.Args = t.Args
		}
	case run.PhaseUpdate:
		if level == verboseFull {
			d.PartialResult = encodeOutput(t.PartialResult)
		}
	case run.PhaseResult:
		d.IsError = &t.IsError
		if terse {
			ms := t.Duration.Milliseconds()
			d.DurationMs = &ms
			break
		}
		d.Meta = t.Meta
		if level == verboseFull {
			d.Result = encodeOutput(t.Result)
		}
	}
	return d
}

func encodeOutput(o *run.ToolOutput) json.RawMessage {
	if o == nil {
		return nil
	}
	data, err := marshal(o)
	if err != nil {
		return nil // a tool's details that cannot be encoded are not worth more
	}
	return data
}

// chatMessage is the message of a chat event.
func chatMessage(text string, at time.Time) *protocol.ChatMessage {
	return &protocol.ChatMessage{
		Role:      "assistant",
		Content:   []protocol.ChatContent{{Type: "text", Text: text}},
		Timestamp: at.UnixMilli(),
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
