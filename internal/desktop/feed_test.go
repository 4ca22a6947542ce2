package desktop_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/desktop"
)

func TestParseFeed(t *testing.T) {
	want := []desktop.Segment{
		{Speaker: "Them", Text: "We pay & leave.", StartMS: 1000, EndMS: 2500, Final: true},
		{Speaker: "Me", Text: "Two lines of it", StartMS: 3600000, EndMS: 3601000, Final: true},
	}
	for name, text := range map[string]string{
		"WebVTT": "WEBVTT - a call\n\nNOTE nothing\n\n1\n00:01.000 --> 00:02.500 align:start\n<v Them>We pay &amp; <i>leave</i>.</v>\n\n01:00:00.000 --> 01:00:01.000\nMe: Two lines\nof it\n",
		"SRT":    "1\r\n00:00:01,000 --> 00:00:02,500\r\nThem: We pay & leave.\r\n\r\n2\r\n01:00:00,000 --> 01:00:01,000\r\nMe: Two lines\r\nof it\r\n",
		"lines":  "{\"speaker\":\"Them\",\"text\":\"We pay & leave.\",\"start_ms\":1000,\"end_ms\":2500}\n\n{\"speaker\":\"Me\",\"text\":\"Two lines of it\",\"start_ms\":3600000,\"end_ms\":3601000,\"final\":true}\n",
	} {
		got, err := desktop.ParseFeed([]byte("\xef\xbb\xbf" + text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, bad := range []string{"hello", "{\"text\":1}", "{\"txt\":\"x\"}", "WEBVTT\n\n00:01 --> 00:02\nx", "{\"text\":\"x\",\"start_ms\":-1}"} {
		if got, err := desktop.ParseFeed([]byte(bad)); err == nil {
			t.Errorf("ParseFeed(%q) = %v", bad, got)
		}
	}
}

func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		segments := []desktop.Segment{{EndMS: 60_000}, {EndMS: 90_000}, {EndMS: 80_000}}
		err := desktop.Play(t.Context(), segments, 60, func(desktop.Segment) error { at = append(at, time.Since(began)); return nil })
		if err != nil || len(at) != 3 || at[0] != time.Second || at[1] != 1500*time.Millisecond || at[2] != at[1] {
			t.Errorf("played at %v, %v", at, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := desktop.Play(ctx, segments, 1, func(desktop.Segment) error { t.Error("played"); return nil }); err == nil {
			t.Error("Play does not end")
		}
	})
}

func TestReadLive(t *testing.T) {
	var got []string
	err := desktop.ReadLive(strings.NewReader("{\"text\":\"a\"}\n\n{\"text\":\"b\",\"final\":false}\nx\n"), func(s desktop.Segment) error { got = append(got, s.Text); return nil })
	if err == nil || !strings.Contains(err.Error(), "line 3") && !strings.Contains(err.Error(), "line 4") || len(got) != 2 {
		t.Errorf("read %v, %v", got, err)
	}
}

func FuzzParseFeed(f *testing.F) {
	for _, s := range []string{"WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>x", "1\n00:00:01,000 --> 99:00:02,500\nA: x\n", `{"text":"x"}`, "-->"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := desktop.ParseFeed(data)
		for _, s := range list {
			if err == nil && (s.StartMS < 0 || s.EndMS < 0) {
				t.Errorf("ParseFeed(%q) has %+v", data, s)
			}
		}
	})
}
