package conformance

// tolerated lists every difference from the recordings that is wanted, and why.
// One that no scenario needs any more fails the test. The narrowest pattern that
// says what is meant is the right one.
var tolerated = []Tolerance{
	// What this gateway is.
	{Frame: "res connect *", Path: "payload.server.version", Kind: Value, Why: "our own version"},
	{Frame: "res connect *", Path: "payload.snapshot.presence.0.version", Kind: Value, Why: "our own version"},
	{Frame: "res connect *", Path: "payload.snapshot.presence.0.text", Kind: Value, Why: "the text names our own version"},
	{Frame: "res connect *", Path: "payload.features.methods.*", Kind: Missing,
		Why: "only methods that are answered are advertised; the rest of the reference's come later"},
	{Frame: "res connect *", Path: "payload.features.methods.*", Kind: Extra,
		Why: "chat.inject and sessions.resolve are advertised too; clients test by inclusion"},
	{Frame: "event presence", Path: "payload.presence.0.version", Kind: Value, Why: "our own version"},
	{Frame: "event presence", Path: "payload.presence.0.text", Kind: Value, Why: "the text names our own version"},
	{Frame: "res system-presence *", Path: "payload.0.version", Kind: Value, Why: "our own version"},
	{Frame: "res system-presence *", Path: "payload.0.text", Kind: Value, Why: "the text names our own version"},
	{Frame: "res connect *", Path: "payload.canvasHostUrl", Kind: Missing, Why: "this build has no canvas host yet"},
	{Frame: "res connect *", Path: "payload.policy.maxPayload", Kind: Value,
		Why: "25 MiB, so that an attachment fits; clients read the limit from here"},

	// The recordings were made one after the other on one gateway, ours starts
	// empty each time.
	{Frame: "res connect *", Path: "payload.snapshot.health.*sessions.count", Kind: Value, Why: "sessions of earlier recordings"},
	{Frame: "event health", Path: "payload.*sessions.count", Kind: Value, Why: "sessions of earlier recordings"},
	{Scenario: "chat-send-history", Frame: "res chat.history *", Path: "payload.messages.*.content.*.id", Kind: Value,
		Why: "the model server numbers calls by the length of the conversation"},
	{Scenario: "chat-send-history", Frame: "res chat.history *", Path: "payload.messages.*.toolCallId", Kind: Value, Why: "as above"},

	{Frame: "res health *", Path: "payload.*sessions.count", Kind: Value, Why: "sessions of earlier recordings"},
	{Scenario: "sessions", Frame: "res sessions.list r4", Path: "payload.count", Kind: Value, Why: "sessions of earlier recordings"},
	{Scenario: "models-skills-agents", Frame: "res agents.files.list *", Path: "payload.files.**", Why: "no run has made a workspace yet"},
	{Frame: "res logs.tail *", Path: "payload.[clst]*", Why: "our own log; file and reset are compared"},
	{Scenario: "sessions", Frame: "res sessions.*", Path: "payload.archived*", Kind: Value, Why: "the name holds the time"},

	// What comes later is not offered yet, and unknown.
	{Frame: "res tts.*", Why: "voice is not offered yet"},
	{Frame: "res voicewake.*", Why: "voice is not offered yet"},
	{Frame: "event voicewake.changed", Kind: Missing, Why: "voice is not offered yet"},
	{Frame: "res talk.mode *", Why: "voice is not offered yet"},
	{Frame: "event talk.mode", Kind: Missing, Why: "voice is not offered yet"},
	{Frame: "res channels.*", Why: "channels are not offered yet"},
	{Frame: "res web.login.*", Why: "channels are not offered yet"},
	{Frame: "res send *", Why: "channels are not offered yet"},
	{Frame: "res exec.approvals.get *", Why: "approvals are not offered yet"},
	{Frame: "res cron.*", Why: "schedules are not offered yet"},
	{Frame: "res wizard.*", Why: "the wizard is not offered yet"},
	{Frame: "res node.*", Why: "nodes are not offered yet"},
	{Frame: "res skills.*", Why: "skills are not offered yet"},
	{Scenario: "models-skills-agents", Frame: "event shutdown", Kind: Missing, Why: "without skills.update there is no restart"},
	{Scenario: "models-skills-agents", Frame: "close", Kind: Close, Why: "without skills.update there is no restart"},
	{Scenario: "sessions", Frame: "res sessions.*", Path: "payload.entry.skillsSnapshot", Kind: Missing, Why: "skills are not offered yet"},
	{Scenario: "chat-commands", Frame: "* idem-cmd-[58] *", Why: "the commands /context and /compact come later"},
	{Scenario: "models-skills-agents", Frame: "event presence", Kind: Missing, Why: "a client of the recording before this one left then"},

	// Our catalog of models is another one.
	{Frame: "res models.list *", Path: "payload.models.**", Why: "our own catalog, and models of providers that can be called"},

	// Our prompt, tools and templates are our own text.
	{Frame: "res agent *", Path: "payload.result.meta.agentMeta.usage.*", Kind: Value, Why: "our prompt has another length"},
	{Frame: "res chat.history *", Path: "payload.messages.*.usage.*", Kind: Value, Why: "our prompt has another length"},
	{Scenario: "sessions", Frame: "res sessions.*", Path: "payload.*Tokens", Kind: Value, Why: "our prompt has another length"},
	{Scenario: "sessions", Frame: "res sessions.list r5", Path: "payload.sessions.0.derivedTitle", Kind: Value,
		Why: "the reference does not find the transcripts when it lists more than one store"},
	{Scenario: "sessions", Frame: "res sessions.list r5", Path: "payload.sessions.0.lastMessagePreview", Kind: Extra, Why: "as above"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.injectedWorkspaceFiles.*.*Chars", Kind: Value, Why: "our templates are our own text"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.systemPrompt.*", Kind: Value, Why: "our prompt is our own text"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.*Chars", Kind: Value, Why: "our tools have our own descriptions"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.entries.**",
		Why: "our tools have our own descriptions, and most of the reference's come later"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.skills.**", Why: "this build has no skills yet"},

	// Errors of a model.
	{Frame: "event chat * final", Path: "payload.errorMessage", Kind: Extra, Why: "a reply that failed says why, also in the chat"},
	{Scenario: "agent-wait", Frame: "res agent r7", Path: "payload.result.payloads.0.text", Kind: Value, Why: "our own words for a model's error"},
	{Scenario: "chat-send-history", Frame: "res chat.history *", Path: "payload.messages.*.errorMessage", Kind: Value, Why: "our own words for a model's error"},

	// Stricter by decision.
	{Frame: "res connect *", Path: "payload.snapshot.configPath", Kind: Missing, Why: "paths of the host are told to admins only"},
	{Frame: "res connect *", Path: "payload.snapshot.stateDir", Kind: Missing, Why: "paths of the host are told to admins only"},
	{Scenario: "connect-ok", Conn: "c2", Frame: "res connect *", Path: "payload.snapshot.presence.1.scopes", Kind: Missing,
		Why: "a client without a device that is no program of ours has no scopes"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "res connect *",
		Why: "a known device gets more scopes without asking only as a command line client"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "event health", Kind: Missing, Why: "that connection is refused"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "res connect *", Why: "every device must sign the nonce"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "event health", Kind: Missing, Why: "that connection is refused"},

	// Protocol 4 and the error details that came with it.
	{Frame: "res connect *", Path: "error.details", Kind: Extra, Why: "refusals carry the details of protocol 4 on both versions"},
	{Frame: "res connect *", Path: "error.details.*", Kind: Extra, Why: "as above"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "res connect *", Why: "4 is a version we speak"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "event health", Kind: Extra, Why: "that connection is let in"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "close", Kind: Close, Why: "that connection is let in"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Why: "the highest version of the range is taken, 4"},
	{Scenario: "connect-bad-first-frame", Conn: "bad-params", Path: "error.message", Kind: Value, Why: "unknown keys of connect are ignored, newer clients send them"},
	{Scenario: "connect-bad-first-frame", Conn: "bad-params", Frame: "close", Kind: Close, Why: "as above"},

	{Scenario: "errors", Conn: "too-big", Frame: "close", Kind: Close, Why: "what was sent is below our limit of 25 MiB"},

	// Events.
	{Scenario: "device-tokens", Frame: "event presence", Path: "payload.presence.1.reason", Kind: Value, Sometimes: true,
		Why: "others hear at once who comes, not only who goes"},
	{Frame: "event presence", Kind: Extra, Why: "others hear at once who comes and goes"},
	{Frame: "event health", Kind: Missing, Why: "refreshes within half a second share one event"},
	{Scenario: "chat-abort", Frame: "res chat.history *", Path: "payload.messages.**",
		Why: "the message of a stopped run stays in the transcript, and its open tool calls are closed"},
	{Scenario: "chat-abort", Frame: "event agent * lifecycle.end", Kind: Extra, Why: "every run has a terminal event, aborted ones too"},

	// The config over the wire, and the end.
	{Scenario: "config", Frame: "res config.*", Path: "payload.**auth.token", Kind: Value, Why: "secrets are never sent, only a sentinel for them"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.**apiKey", Kind: Value, Why: "as above"},
	{Scenario: "config", Frame: "res config.get *", Path: "payload.raw", Kind: Value, Why: "as above, and the test writes its keys in another order"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.**gateway.port", Kind: Value, Why: "a free port"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.**meta.lastTouched*", Kind: Value, Why: "our own version, and now"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.config.logging", Kind: Extra, Why: "defaults show also where the file lacks the whole section"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.config.session", Kind: Extra, Why: "as above"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.generatedAt", Kind: Value, Why: "now"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.version", Kind: Value, Why: "our own version"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.schema", Kind: Value,
		Why: "not in the recording; internal/config compares its keys with those of the reference"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints.**", Why: "our own words for editors"},
	{Scenario: "config", Frame: "res connect *", Path: "payload.snapshot.presence.2", Kind: Missing, Why: "a client of the recording before"},
	{Scenario: "tick-shutdown", Frame: "event shutdown", Path: "payload.restartExpectedMs", Kind: Missing, Why: "left out on a plain stop, never null"},
}
