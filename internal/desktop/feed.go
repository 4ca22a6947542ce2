package desktop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"openclaw/internal/relayclient"
)

// Segment is something said in a call. Times are milliseconds since the call began. A
// segment that is not final will come again with another text.
type Segment struct {
	Speaker string `json:"speaker,omitempty"` // "Me", "Them" or a name
	Text    string `json:"text"`
	StartMS int64  `json:"start_ms"`
	EndMS   int64  `json:"end_ms"`
	Final   bool   `json:"final"`
}

// ParseFeed reads the transcript of a call: WebVTT, SRT, or JSON lines of segments.
func ParseFeed(data []byte) ([]Segment, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	first := strings.TrimLeft(text, " \t\n")
	switch {
	case strings.HasPrefix(first, "{"):
		return parseLines(text)
	case strings.HasPrefix(first, "WEBVTT"), strings.Contains(first, "-->"):
		return parseCues(text)
	}
	return nil, errors.New("the transcript is neither WebVTT nor SRT nor JSON lines of {speaker,text,start_ms,end_ms,final}")
}

func parseLines(text string) ([]Segment, error) {
	var list []Segment
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		s, err := parseSegment([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func parseSegment(line []byte) (Segment, error) {
	s := Segment{Final: true}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("want {speaker,text,start_ms,end_ms,final}: %w", err)
	}
	if s.StartMS < 0 || s.EndMS < 0 {
		return s, errors.New("times must not be negative")
	}
	return s, nil
}

var (
	cueTimes = regexp.MustCompile(`^\s*((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})\s+-->\s+((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})(?:\s.*)?$`)
	voiceTag = regexp.MustCompile(`^<v(?:\.[^ >]*)?\s+([^>]+)>`)
	anyTag   = regexp.MustCompile(`</?[a-zA-Z0-9][^>]*>`)
	speaker  = regexp.MustCompile(`^([\pL][\pL\pN .'-]{0,30}):\s+(\S.*)$`)
)

// parseCues reads WebVTT and SRT, which differ in what stands around the cues.
func parseCues(text string) ([]Segment, error) {
	var list []Segment
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := cueTimes.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.Contains(lines[i], "-->") {
				return nil, fmt.Errorf("line %d: want 00:00:00.000 --> 00:00:01.000", i+1)
			}
			continue // a header, a note, a number
		}
		s := Segment{StartMS: cueTime(m[1]), EndMS: cueTime(m[2]), Final: true}
		var said []string
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
			said = append(said, strings.TrimSpace(lines[i]))
		}
		s.Speaker, s.Text = whoSaid(strings.Join(said, " "))
		if s.Text != "" {
			list = append(list, s)
		}
	}
	return list, nil
}

func cueTime(s string) int64 {
	s = strings.ReplaceAll(s, ",", ".")
	parts := strings.Split(s, ":")
	var ms int64
	for _, p := range parts[:len(parts)-1] {
		n, _ := strconv.ParseInt(p, 10, 32) // digits, by the pattern
		ms = ms*60 + n
	}
	sec, _ := strconv.ParseFloat(parts[len(parts)-1], 64) // likewise
	return ms*60000 + int64(sec*1000+0.5)
}

func whoSaid(text string) (who, said string) {
	if m := voiceTag.FindStringSubmatch(text); m != nil {
		who, text = strings.TrimSpace(m[1]), text[len(m[0]):]
	}
	text = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&nbsp;", " ").Replace(anyTag.ReplaceAllString(text, ""))
	text = strings.TrimSpace(text)
	if who == "" {
		if m := speaker.FindStringSubmatch(text); m != nil {
			return m[1], m[2]
		}
	}
	return who, text
}

// Play gives the segments to take at the times at which they ended, speed times as
// fast as they were said; 0 is as fast as possible.
func Play(ctx context.Context, segments []Segment, speed float64, take func(Segment) error) error {
	began := time.Now()
	for _, s := range segments {
		if speed > 0 {
			at := began.Add(time.Duration(float64(s.EndMS) * float64(time.Millisecond) / speed))
			if !relayclient.Sleep(ctx, max(0, time.Until(at))) {
				return ctx.Err()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := take(s); err != nil {
			return err
		}
	}
	return nil
}

// ReadLive reads JSON lines of segments as a transcriber writes them, until it ends.
func ReadLive(r io.Reader, take func(Segment) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		s, err := parseSegment(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := take(s); err != nil {
			return err
		}
	}
	return lines.Err()
}
