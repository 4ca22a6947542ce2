package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"openclaw/internal/disk"
	"openclaw/protocol"
)

const (
	sentinelVersion = 1
	// sentinelMax bounds the file that is read back.
	sentinelMax = 1 << 20
	doctorHint  = "Run: openclaw doctor --non-interactive"
)

// sentinelFile is the content of restart-sentinel.json: what is to be said after
// the restart. Other implementations read and write it too.
type sentinelFile struct {
	Version int                     `json:"version"`
	Payload protocol.RestartPayload `json:"payload"`
}

func (g *Gateway) sentinelPath() string {
	return filepath.Join(g.cfg.StateDir, "restart-sentinel.json")
}

// leaveSentinel writes payload down for the time after the restart. A restart
// does not fail because of it: without the file the path is nil.
func (g *Gateway) leaveSentinel(payload protocol.RestartPayload) protocol.RestartSentinel {
	out := protocol.RestartSentinel{Payload: payload}
	path := g.sentinelPath()
	data, err := json.MarshalIndent(sentinelFile{sentinelVersion, payload}, "", "  ")
	if err == nil {
		err = disk.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		g.log.Warn("nothing will be said after the restart", "err", err)
		return out
	}
	out.Path = &path
	return out
}

// takeSentinel reads what was left and removes the file, so that it is said once
// however often the gateway starts. False means that there is nothing to say.
func (g *Gateway) takeSentinel() (protocol.RestartPayload, bool, error) {
	path := g.sentinelPath()
	data, err := disk.ReadFile(path, sentinelMax)
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.RestartPayload{}, false, nil
	}
	if err != nil {
		return protocol.RestartPayload{}, false, fmt.Errorf("read restart sentinel: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return protocol.RestartPayload{}, false, fmt.Errorf("remove restart sentinel: %w", err)
	}
	var f sentinelFile
	if err := json.Unmarshal(data, &f); err != nil {
		return protocol.RestartPayload{}, false, fmt.Errorf("read restart sentinel: %w", err)
	}
	if f.Version != sentinelVersion {
		return protocol.RestartPayload{}, false, fmt.Errorf("read restart sentinel: version %d is not known", f.Version)
	}
	return f.Payload, true, nil
}

// tellRestart says what was left for the time after the restart to the session
// that it names, or to the main one: it stands before the next prompt.
func (g *Gateway) tellRestart() {
	payload, ok, err := g.takeSentinel()
	if err != nil {
		g.log.Warn("what was to be said after the restart is lost", "err", err)
		return
	}
	if !ok {
		return
	}
	key := g.settings().canonical(cmp.Or(payload.SessionKey, "main"))
	g.log.Info("restart is over", "kind", payload.Kind, "status", payload.Status, "session", key)
	g.cfg.Router.Notify(key, restartText(payload), "restart")
}

// restartText says in words what a payload is about.
func restartText(p protocol.RestartPayload) string {
	var b strings.Builder
	switch {
	case p.Status != "" && p.Status != "ok":
		fmt.Fprintf(&b, "The gateway restarted, but %s ended with %s.", what(p), p.Status)
	case p.Kind == "restart":
		b.WriteString("The gateway restarted.")
	default:
		fmt.Fprintf(&b, "The gateway restarted after %s.", what(p))
	}
	if p.Message != nil && strings.TrimSpace(*p.Message) != "" {
		b.WriteString(" " + strings.TrimSpace(*p.Message))
	}
	if p.Status != "" && p.Status != "ok" && p.DoctorHint != "" {
		b.WriteString(" " + p.DoctorHint)
	}
	return b.String()
}

// what names the cause of a restart.
func what(p protocol.RestartPayload) string {
	switch {
	case p.Stats.Mode != "":
		return p.Stats.Mode
	case p.Kind != "":
		return p.Kind
	}
	return "a change"
}

// changePayload is what is left behind by a change of the config file.
func changePayload(p protocol.ConfigChangeParams, mode, path string) protocol.RestartPayload {
	out := protocol.RestartPayload{
		Kind: "config-apply", Status: "ok", Ts: time.Now().UnixMilli(), SessionKey: strings.TrimSpace(p.SessionKey),
		DoctorHint: doctorHint, Stats: protocol.RestartStats{Mode: mode, Root: path},
	}
	if note := strings.TrimSpace(p.Note); note != "" {
		out.Message = &note
	}
	return out
}
