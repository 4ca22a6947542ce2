package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"openclaw/internal/chat"
	"openclaw/internal/workspace"
	"openclaw/protocol"
)

// What an agent is called that has no name, and what it looks like.
const (
	assistantName   = "Assistant"
	assistantAvatar = "A"
)

// Bounds of what an identity may say, in characters.
const (
	maxNameLen   = 50
	maxAvatarLen = 200
	maxBadgeLen  = 4 // an avatar that is text: initials or an emoji
)

// hasAgent reports whether an agent is configured, the default one included.
func (s *settings) hasAgent(id string) bool { return slices.Contains(s.agentIDs(), id) }

// agentIdentityGet tells how an agent presents itself: what the configuration of
// the user interface says, else what that of the agent says, else what the agent
// wrote about itself.
func (g *Gateway) agentIdentityGet(_ context.Context, q *request, p *protocol.AgentIdentityGetParams) (any, error) {
	s := g.settings()
	agent, key := strings.TrimSpace(p.AgentID), strings.TrimSpace(p.SessionKey)
	owner, _, named := chat.ParseKey(key)
	if named && agent != "" && chat.NormalizeAgentID(agent) != chat.NormalizeAgentID(owner) {
		return nil, invalid(fmt.Sprintf("invalid %s params: agent %q does not match session key agent %q", q.method, chat.NormalizeAgentID(agent), chat.NormalizeAgentID(owner)))
	}
	agent = chat.NormalizeAgentID(cmp.Or(agent, owner, s.of.DefaultAgentID()))
	return g.identity(s, agent), nil
}

func (g *Gateway) identity(s *settings, agent string) protocol.AgentIdentityGetResult {
	own, _ := s.of.Agent(agent)
	var file workspace.Identity
	if g.cfg.Workspace != nil && s.hasAgent(agent) {
		file, _ = workspace.LoadIdentity(g.cfg.Workspace(agent)) // without one the agent has not said who it is
	}
	ui := s.of.UI.Assistant
	out := protocol.AgentIdentityGetResult{
		AgentID: agent, Name: assistantName, Avatar: assistantAvatar,
		Emoji: short(cmp.Or(own.Identity.Emoji, file.Emoji), maxAvatarLen),
	}
	out.Name = cmp.Or(short(ui.Name, maxNameLen), short(own.Identity.Name, maxNameLen), short(file.Name, maxNameLen), out.Name)
	for _, face := range []string{ui.Avatar, own.Identity.Avatar, own.Identity.Emoji, file.Avatar, file.Emoji} {
		face = short(face, maxAvatarLen)
		if shown, ok := avatar(face, s.of.Gateway.ControlUI.BasePath, agent); ok {
			out.Avatar = shown
			break
		}
	}
	return out
}

// short trims s and cuts it to n characters.
func short(s string, n int) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// avatar returns what a client can show: an address as it is, the place where a
// local picture is served, or a badge of a few characters. False means none of
// them.
func avatar(face, basePath, agent string) (string, bool) {
	lower := strings.ToLower(face)
	switch {
	case face == "":
		return "", false
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"), strings.HasPrefix(lower, "data:image/"):
		return face, true
	case strings.ContainsAny(face, `/\`), slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg"}, path.Ext(lower)):
		base := strings.Trim(strings.TrimSpace(basePath), "/")
		if base != "" {
			base = "/" + base
		}
		return base + "/avatar/" + agent, true
	}
	return face, len([]rune(face)) <= maxBadgeLen && !strings.ContainsFunc(face, unicode.IsSpace)
}

// agentDir returns the workspace of an agent that somebody named.
func (g *Gateway) agentDir(id string) (agent, dir string, err error) {
	agent = chat.NormalizeAgentID(id)
	if !g.settings().hasAgent(agent) || g.cfg.Workspace == nil {
		return "", "", invalid("unknown agent id")
	}
	return agent, g.cfg.Workspace(agent), nil
}

func (g *Gateway) agentsFilesList(_ context.Context, _ *request, p *protocol.AgentsFilesListParams) (any, error) {
	agent, dir, err := g.agentDir(p.AgentID)
	if err != nil {
		return nil, err
	}
	out := protocol.AgentsFilesListResult{AgentID: agent, Workspace: dir, Files: []protocol.AgentFile{}}
	for _, f := range workspace.List(dir) {
		out.Files = append(out.Files, agentFile(f))
	}
	return out, nil
}

func (g *Gateway) agentsFilesGet(_ context.Context, _ *request, p *protocol.AgentsFilesGetParams) (any, error) {
	agent, dir, err := g.agentDir(p.AgentID)
	if err != nil {
		return nil, err
	}
	f, text, err := workspace.ReadFile(dir, p.Name)
	if err != nil {
		return nil, fileError(err, p.Name)
	}
	out := protocol.AgentsFilesGetResult{AgentID: agent, Workspace: dir, File: agentFile(f)}
	if !f.Missing {
		out.File.Content = &text
	}
	return out, nil
}

func (g *Gateway) agentsFilesSet(_ context.Context, q *request, p *protocol.AgentsFilesSetParams) (any, error) {
	agent, dir, err := g.agentDir(p.AgentID)
	if err != nil {
		return nil, err
	}
	f, err := workspace.WriteFile(dir, p.Name, p.Content)
	if err != nil {
		return nil, fileError(err, p.Name)
	}
	g.log.Info("agent file written", "agent", agent, "name", f.Name, "bytes", f.Size, "by", q.conn.id)
	file := agentFile(f)
	file.Content = &p.Content
	return protocol.AgentsFilesSetResult{OK: true, AgentID: agent, Workspace: dir, File: file}, nil
}

func agentFile(f workspace.FileInfo) protocol.AgentFile {
	out := protocol.AgentFile{Name: f.Name, Path: f.Path, Missing: f.Missing}
	if !f.Missing {
		out.Size, out.UpdatedAtMs = &f.Size, new(f.ModTime.UnixMilli())
	}
	return out
}

// fileError gives the refusals of the workspace their words.
func fileError(err error, name string) error {
	switch {
	case errors.Is(err, workspace.ErrUnsupported):
		return invalid(fmt.Sprintf("unsupported file %q", name))
	case errors.Is(err, workspace.ErrOutside):
		return invalid(fmt.Sprintf("file %q leads out of the workspace", name))
	case errors.Is(err, workspace.ErrTooLarge):
		return invalid(fmt.Sprintf("file %q is larger than 4 MiB", name))
	}
	return err
}
