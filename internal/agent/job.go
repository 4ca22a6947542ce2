package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
	"openclaw/internal/workspace"
)

// saveTimeout bounds the writes that must survive an abort.
const saveTimeout = 10 * time.Second

// defaultHeartbeat is the heartbeat prompt unless the configuration has one.
const defaultHeartbeat = "Read HEARTBEAT.md in the workspace if it exists and follow it strictly. Do not revive or repeat old tasks from earlier chats. If nothing needs attention, reply HEARTBEAT_OK."

// job is one run on its way through the agent.
type job struct {
	agent  *Agent
	req    run.Request
	log    *slog.Logger
	events *emitter
	box    *mailbox
	began  time.Time

	store    *session.Store
	entry    session.Entry
	settings Settings
	models   *model.Directory
	levels   levels
	script   *session.Transcript
	asked    bool // the user's message is in the transcript

	messages []turn.Message // the conversation so far
	info     model.Info     // of the model in use
	report   report
	result   result
}

func (j *job) run(ctx context.Context) (run.Outcome, error) {
	defer j.closeScript()
	err := j.prepare(ctx)
	if err == nil {
		err = j.tryAll(ctx)
	}
	var failed *model.Error
	var abort run.Abort
	switch {
	case err == nil:
		return j.succeed()
	case errors.As(err, &abort):
		return j.abort(abort)
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &abort):
		return j.abort(abort) // it showed as an error of whatever was going on
	case ctx.Err() != nil:
		return j.abort(run.AbortShutdown)
	case errors.As(err, &failed) && j.asked:
		return j.fail(failed)
	}
	return j.outcome(nil, false), err
}

// prepare gathers what the run depends on and opens the transcript.
func (j *job) prepare(ctx context.Context) (err error) {
	a := j.agent
	if j.store, err = a.cfg.Sessions(j.req.AgentID); err != nil {
		return err
	}
	if j.req.SessionKey != "" {
		j.entry, _ = j.store.Get(j.req.SessionKey)
	}
	j.settings, j.models = a.cfg.Settings(j.req.AgentID), a.cfg.Models(j.req.AgentID)
	j.levels = levelsOf(j.req, j.entry, j.settings)
	j.events.base.Verbose = j.levels.verbose
	if _, err := workspace.Ensure(ctx, j.settings.Workspace, workspace.EnsureOptions{SkipFiles: j.settings.SkipBootstrap}); err != nil {
		return err
	}
	j.script, err = j.store.OpenTranscript(ctx, session.TranscriptOptions{
		SessionID: j.req.SessionID, Path: j.entry.SessionFile, Cwd: j.settings.Workspace,
	})
	if err != nil {
		return err
	}
	j.messages, err = j.script.Context()
	return err
}

// record writes a message to the transcript.
func (j *job) record(m turn.Message) error {
	_, err := j.script.Append(m)
	return err
}

func (j *job) closeScript() {
	if j.script == nil {
		return
	}
	if err := j.script.Close(); err != nil {
		j.log.Error("transcript not closed properly", "err", err)
	}
}

// tryAll works through the candidate models until one does the job.
func (j *job) tryAll(ctx context.Context) error {
	refs, err := j.models.Candidates(wantedModel(j.req, j.entry, j.settings), j.settings.Fallbacks)
	if err != nil {
		return err
	}
	// Without fallbacks the primary only stands in for a model that cannot be asked.
	spare := j.models.HasFallbacks(j.settings.Fallbacks)
	var failures []model.Attempt
	for i, ref := range refs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := j.try(ctx, ref, i == len(refs)-1 || !spare)
		if err == nil || ctx.Err() != nil {
			return err
		}
		failures = append(failures, model.Attempt{Ref: ref, Err: err})
		if !failsOver(err) || j.asked && !spare {
			break
		}
		if i+1 < len(refs) {
			j.log.Warn("model failed, trying the next", "model", ref, "next", refs[i+1], "err", err)
		}
	}
	if last := failures[len(failures)-1].Err; errors.Is(last, run.AbortTimeout) {
		return last // the time is up, whatever failed before
	}
	return model.AllFailed(failures)
}

// failsOver reports whether another model may do better.
func failsOver(err error) bool {
	if errors.Is(err, run.AbortTimeout) {
		return true
	}
	switch model.KindOf(err) {
	case model.KindAuth, model.KindBilling, model.KindRateLimit, model.KindOverloaded, model.KindServer,
		model.KindTimeout, model.KindNetwork, model.KindNotFound, model.KindConfig:
		return true
	}
	return false
}

// try runs one attempt with one model, bounded by the run's timeout.
func (j *job) try(ctx context.Context, ref model.Ref, last bool) error {
	endpoint, err := j.models.ResolveAs(ref.String(), pinned(j.entry, ref))
	if err != nil {
		return err
	}
	if endpoint.Warning != "" {
		j.log.Warn("model is a poor fit", "model", ref, "warning", endpoint.Warning)
	}
	j.info = endpoint.Info
	att, err := j.attempt(endpoint, last)
	if err != nil {
		return err
	}
	timeout := j.req.Timeout
	if timeout <= 0 {
		timeout = j.settings.Timeout
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, run.AbortTimeout)
	defer cancel()
	if !j.asked {
		if err := att.append(userMessage(j.req.Prompt, j.images(endpoint.Info), j.agent.now())); err != nil {
			return err
		}
		j.asked = true
	}
	j.events.start()
	j.box.begin()
	err = att.run(ctx)
	j.messages, j.result = att.messages, att.result
	return err
}

// pinned is the auth profile that the session chose, if it belongs to the model's
// provider: a fallback to another provider must not look for it there.
func pinned(e session.Entry, ref model.Ref) string {
	if strings.HasPrefix(e.AuthProfileOverride, ref.Provider+":") {
		return e.AuthProfileOverride
	}
	return ""
}

// images returns the attachments if the model can see them.
func (j *job) images(info model.Info) []turn.Block {
	if len(j.req.Images) > 0 && !info.Images() {
		j.log.Warn("model accepts no images, attachments are left out", "model", info.Ref, "count", len(j.req.Images))
		return nil
	}
	return j.req.Images
}

// attempt sets up a try: tools, prompt and the marks in the transcript.
func (j *job) attempt(endpoint model.Endpoint, last bool) (*attempt, error) {
	think := thinkFor(j.levels.think, endpoint.Info)
	tools := j.tools(endpoint.Info.Ref)
	p := j.prompt(endpoint.Info, tools, think)
	system, projectChars := p.build()
	j.describe(p, system, projectChars, endpoint.Info)
	ref := endpoint.Info.Ref
	choice := session.Choice{Provider: ref.Provider, Model: ref.ID, API: string(endpoint.Info.API), ThinkingLevel: think}
	if err := j.script.Begin(choice); err != nil {
		return nil, fmt.Errorf("save the conversation: %w", err)
	}
	family := session.FamilyOf(ref.Provider, string(endpoint.Info.API), ref.ID)
	att := &attempt{
		model: endpoint, think: think, system: system, session: j.req.SessionID,
		tools: map[string]tool.Tool{}, home: j.agent.cfg.Home, retries: maxRetries,
		view:   func(m []turn.Message) []turn.Message { return session.Hygiene(family, m) },
		record: j.record, events: j.events, box: j.box, log: j.log, now: j.agent.now,
		messages: slices.Clip(j.messages),
	}
	if !last {
		att.retries = 1 // another model is quicker than patience
	}
	for _, t := range tools {
		s := t.Spec()
		att.tools[s.Name] = t
		att.specs = append(att.specs, model.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	return att, nil
}

func (j *job) tools(ref model.Ref) []tool.Tool {
	scope := ToolScope{
		AgentID: j.req.AgentID, SessionKey: j.req.SessionKey, SessionID: j.req.SessionID,
		Workspace: j.settings.Workspace, Channel: j.req.Channel, Model: ref, Entry: j.entry, Elevated: j.levels.elevated,
	}
	own := []tool.Tool{j.agent.statusTool(j.req.AgentID, j.req.SessionKey)}
	if j.agent.cfg.Tools == nil {
		return own
	}
	return j.agent.cfg.Tools(scope, own)
}

// prompt gathers what the system prompt says.
func (j *job) prompt(info model.Info, tools []tool.Tool, think string) prompt {
	s, cfg := j.settings, j.agent.cfg
	subagent := chat.IsSubagent(j.req.SessionKey)
	p := prompt{
		timezone: zoneName(s.Zone), workspace: s.Workspace, bootstrapping: workspace.Bootstrapping(s.Workspace),
		docs: cfg.Docs, docsURL: cfg.DocsURL, owners: s.Owners, extra: j.req.ExtraSystemPrompt, channel: j.req.Channel,
		citations: s.MemoryCitations, heartbeat: s.HeartbeatPrompt, reasoning: j.levels.reasoning,
		files: j.agent.files.Load(s.Workspace, workspace.LoadOptions{
			MaxChars: s.BootstrapMaxChars, Main: chat.IsMain(j.req.SessionKey), Subagent: subagent,
		}),
		runtime: runtimeLine{
			agent: j.req.AgentID, host: cfg.Host, repo: findRepo(s.RepoRoot, s.Workspace),
			os: runtime.GOOS, arch: runtime.GOARCH, version: runtime.Version(), model: info.Ref.String(),
			defaultModel: j.models.Default().String(), channel: j.req.Channel, thinking: think,
		},
	}
	if subagent {
		p.mode = promptMinimal
	}
	if p.heartbeat == "" {
		p.heartbeat = defaultHeartbeat
	}
	for _, name := range slices.Sorted(maps.Keys(s.Aliases)) {
		p.aliases = append(p.aliases, alias{name, s.Aliases[name]})
	}
	for _, t := range tools {
		p.tools = append(p.tools, t.Spec())
	}
	for _, f := range p.files {
		if f.Truncated {
			j.log.Warn("workspace file is too long for the prompt and was cut", "file", f.Name, "chars", f.RawChars, "kept", f.InjectedChars)
		}
	}
	return p
}

// describe keeps the report of the prompt that is about to be used.
func (j *job) describe(p prompt, system string, projectChars int, info model.Info) {
	r := newReport(p, system, projectChars, j.agent.now())
	r.SessionID, r.SessionKey = j.req.SessionID, j.req.EventKey
	r.Provider, r.Model = info.Ref.Provider, info.Ref.ID
	r.BootstrapMaxChars = j.settings.BootstrapMaxChars
	if r.BootstrapMaxChars <= 0 {
		r.BootstrapMaxChars = workspace.DefaultMaxChars
	}
	j.report = r
}

// zoneName names a time zone for the model; the machine's own zone has only a
// short name.
func zoneName(zone *time.Location) string {
	if zone == nil {
		zone = time.Local
	}
	if name := zone.String(); name != "Local" {
		return name
	}
	name, _ := time.Now().Zone()
	return name
}
