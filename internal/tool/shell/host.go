package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Hosts where a command can run, and the scales of security and ask, the
// strictest first and last.
const (
	hostSandbox = "sandbox"
	hostGateway = "gateway"
	hostNode    = "node"

	securityDeny = "deny"
	securityFull = "full"
	askOff       = "off"
	askOnMiss    = "on-miss"
	askAlways    = "always"
)

func securities() []string { return []string{securityDeny, "allowlist", securityFull} }
func asks() []string       { return []string{askOff, askOnMiss, askAlways} }

// Elevated says whether a run may leave its host for the gateway's.
// See docs/tools.md#exec-host.
type Elevated struct {
	// Level is the session's: off, on, ask or full; empty is off.
	Level string
	// Allowed is set when every gate is open: the feature and the sender.
	Allowed bool
	// Closed names the configuration keys of the gates that are shut.
	Closed []string
}

// mode returns what applies: "" for none, "ask" or "full". requested is the
// parameter of the call, nil if absent.
func (e Elevated) mode(requested *bool) (string, error) {
	level := strings.ToLower(e.Level)
	switch {
	case requested == nil && (level == "" || level == "off" || !e.Allowed), requested != nil && !*requested:
		return "", nil
	case !e.Allowed:
		why := "the sender is not allowed"
		if len(e.Closed) > 0 {
			why = "check " + strings.Join(e.Closed, ", ")
		}
		return "", fmt.Errorf("elevated execution is not available here: %s", why)
	case level == "full":
		return "full", nil
	}
	return "ask", nil
}

// target is where and under which policy a command runs.
type target struct {
	host, security, ask string
	// bypass is set when the session approved everything in advance.
	bypass bool
}

// resolve joins what a call asks for with what its scope allows: a call can make
// the policy stricter, never looser.
func (s Scope) resolve(p execParams) (target, error) {
	mode, err := s.Elevated.mode(p.Elevated)
	if err != nil {
		return target{}, err
	}
	configured, err := choice("host", s.Settings.Host, hostSandbox, []string{hostSandbox, hostGateway, hostNode})
	if err != nil {
		return target{}, err
	}
	t := target{host: configured}
	if asked, err := choice("host", p.Host, configured, []string{hostSandbox, hostGateway, hostNode}); err != nil {
		return target{}, err
	} else if mode == "" && asked != configured {
		return target{}, fmt.Errorf("exec host %s is not allowed, this session runs on %s (tools.exec.host)", asked, configured)
	}
	if mode != "" {
		t.host = hostGateway
	}
	security := "allowlist"
	if t.host == hostSandbox {
		security = securityDeny
	}
	if t.security, err = stricter("security", s.Settings.Security, security, p.Security, securities(), -1); err != nil {
		return target{}, err
	}
	if t.ask, err = stricter("ask", s.Settings.Ask, askOnMiss, p.Ask, asks(), +1); err != nil {
		return target{}, err
	}
	if mode == "full" {
		t.security, t.ask, t.bypass = securityFull, askOff, true
	}
	return t, nil
}

// choice returns value in its plain form, def if it is empty.
func choice(name, value, def string, known []string) (string, error) {
	value = strings.ToLower(strings.TrimSpace(value))
	if value == "" {
		return def, nil
	}
	if !slices.Contains(known, value) {
		return "", fmt.Errorf("%s must be one of %s, got %q", name, strings.Join(known, ", "), value)
	}
	return value, nil
}

// stricter returns the stricter of the configured value (def if empty) and the
// asked one; sign says at which end of scale that is.
func stricter(name, configured, def, asked string, scale []string, sign int) (string, error) {
	base, err := choice(name, configured, def, scale)
	if err != nil {
		return "", err
	}
	wish, err := choice(name, asked, base, scale)
	if err != nil {
		return "", err
	}
	if (slices.Index(scale, wish)-slices.Index(scale, base))*sign > 0 {
		return wish, nil
	}
	return base, nil
}

// Approval describes a command that somebody has to allow.
type Approval struct {
	AgentID, SessionKey string
	Command, Dir, Host  string
	Security, Ask       string
}

// Approver decides about one command. Returning nil lets it run now; the text of
// an error is shown to the model. Approve returns soon after ctx ends.
type Approver interface {
	Approve(ctx context.Context, a Approval) error
}

// permit enforces the policy of the target. The sandbox host has none: what runs
// there is confined by its container or, without one, by nothing.
func (t *tools) permit(ctx context.Context, at target, command, dir string) error {
	switch {
	case at.host == hostSandbox:
		return nil
	case at.host == hostNode:
		return errors.New("exec host node is not available: no node is connected")
	case at.bypass:
		return nil
	case at.security == securityDeny:
		return fmt.Errorf("exec denied: host=%s security=deny", at.host)
	case at.security == securityFull && at.ask != askAlways:
		return nil
	case t.sh.cfg.Approver == nil:
		return fmt.Errorf("exec denied: host=%s security=%s ask=%s needs an approval, and nothing here can give one", at.host, at.security, at.ask)
	}
	return t.sh.cfg.Approver.Approve(ctx, Approval{AgentID: t.scope.AgentID, SessionKey: t.scope.SessionKey,
		Command: command, Dir: dir, Host: at.host, Security: at.security, Ask: at.ask})
}
