package conformance

// Reasons that need no clause of a specification.
const (
	ownVersion = "own version"
	ownHost    = "own host"
	ownTime    = "time"
	ownIDs     = "ids"
	ownText    = "own text" // prompts, templates, descriptions, labels
	// ownStart: the recordings were made one after the other on one gateway, ours
	// starts empty each time.
	ownStart = "empty start"
	// later: what the gateway does not offer yet is not advertised and unknown.
	later = "later feature"
)

// tolerated lists every difference from the recordings that is wanted, and by
// which clause of gateway-protocol (GP), agent-runtime (AR) or reason above. One
// that no scenario needs any more fails the test, and so does one without a
// reason. The narrowest pattern that says what is meant is the right one.
//
// Apart from these, joinAttempts tells retried runs as GP 9.5 wants them.
var tolerated = []Tolerance{
	// What this gateway is.
	{Frame: "res connect *", Path: "payload.server.version", Kind: Value, By: ownVersion},
	{Frame: "res connect *", Path: "payload.snapshot.presence.0.version", Kind: Value, By: ownVersion},
	{Frame: "res connect *", Path: "payload.snapshot.presence.0.text", Kind: Value, By: ownVersion, Why: "the text names it"},
	{Frame: "event presence", Path: "payload.presence.0.version", Kind: Value, By: ownVersion},
	{Frame: "event presence", Path: "payload.presence.0.text", Kind: Value, By: ownVersion, Why: "the text names it"},
	{Frame: "res system-presence *", Path: "payload.0.version", Kind: Value, By: ownVersion},
	{Frame: "res system-presence *", Path: "payload.0.text", Kind: Value, By: ownVersion, Why: "the text names it"},
	{Frame: "res connect *", Path: "payload.policy.maxPayload", Kind: Value, By: "GP 8.1", Why: "25 MiB, so that an attachment fits"},
	{Scenario: "errors", Conn: "too-big", Frame: "close", Kind: Close, By: "GP 8.1", Why: "what was sent is below that limit"},
	{Frame: "res connect *", Path: "payload.features.methods.chat.inject", Kind: Extra, By: "GP 6.3", Why: "advertised as well"},
	{Frame: "res connect *", Path: "payload.features.methods.sessions.resolve", Kind: Extra, By: "GP 6.3", Why: "advertised as well"},

	// An empty start.
	{Frame: "res connect *", Path: "payload.snapshot.health.sessions.count", Kind: Value, By: ownStart},
	{Frame: "res connect *", Path: "payload.snapshot.health.agents.0.sessions.count", Kind: Value, By: ownStart},
	{Frame: "event health", Path: "payload.sessions.count", Kind: Value, By: ownStart},
	{Frame: "event health", Path: "payload.agents.0.sessions.count", Kind: Value, By: ownStart},
	{Scenario: "errors", Frame: "res health *", Path: "payload.sessions.count", Kind: Value, By: ownStart},
	{Scenario: "errors", Frame: "res health *", Path: "payload.agents.0.sessions.count", Kind: Value, By: ownStart},
	{Scenario: "sessions", Frame: "res sessions.list r4", Path: "payload.count", Kind: Value, By: ownStart},
	{Scenario: "models-skills-agents", Frame: "res agents.files.list r6", Path: "payload.files.*.missing", Kind: Value, By: ownStart, Why: "no run has made a workspace"},
	{Scenario: "models-skills-agents", Frame: "res agents.files.list r6", Path: "payload.files.*.size", Kind: Missing, By: ownStart, Why: "as above"},
	{Scenario: "models-skills-agents", Frame: "res agents.files.list r6", Path: "payload.files.*.updatedAtMs", Kind: Missing, By: ownStart, Why: "as above"},
	{Scenario: "models-skills-agents", Frame: "event presence", Kind: Missing, By: ownStart, Why: "a client of the recording before this one left then"},
	{Scenario: "config", Conn: "c1", Frame: "res connect *", Path: "payload.snapshot.presence.2", Kind: Missing, By: ownStart, Why: "as above"},
	{Scenario: "reads", Frame: "res logs.tail *", Path: "payload.file", Kind: Value, By: ownStart, Why: "our own log"},
	{Scenario: "reads", Frame: "res logs.tail *", Path: "payload.lines.*", Kind: Extra, By: ownStart, Why: "our own log"},
	{Scenario: "reads", Frame: "res logs.tail *", Path: "payload.cursor", Kind: Value, By: ownStart, Why: "our own log"},
	{Scenario: "reads", Frame: "res logs.tail *", Path: "payload.size", Kind: Value, By: ownStart, Why: "our own log"},
	{Scenario: "chat-send-history", Frame: "res chat.history *", Path: "payload.messages.*.content.*.id", Kind: Value, By: ownIDs,
		Why: "the model server numbers calls by the length of the conversation"},
	{Scenario: "chat-send-history", Frame: "res chat.history *", Path: "payload.messages.*.toolCallId", Kind: Value, By: ownIDs, Why: "as above"},
	{Scenario: "agent-responses", Frame: "res chat.history *", Path: "payload.messages.*.content.*.id", Kind: Value, By: ownIDs, Why: "the model server counts its answers"},
	{Scenario: "agent-responses", Frame: "res chat.history *", Path: "payload.messages.*.toolCallId", Kind: Value, By: ownIDs, Why: "as above"},
	{Scenario: "agent-responses", Frame: "res chat.history *", Path: "payload.messages.*.content.*.t*Signature", Kind: Value, By: ownIDs, Why: "as above"},
	{Scenario: "agent-run-tool-verbose", Frame: "event agent * tool.update", Path: "payload.data.partialResult.details.sessionId", Kind: Value, By: ownIDs,
		Why: "two random words, AR 20.5"},

	// What comes later is not offered yet.
	{Frame: "res connect *", Path: "payload.canvasHostUrl", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.browser.request", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.channels.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.cron.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.exec.approval*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.node.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.send", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.skills.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.talk.mode", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.tts.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.update.run", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.voicewake.*", Kind: Missing, By: later},
	{Frame: "res connect *", Path: "payload.features.methods.wizard.*", Kind: Missing, By: later},
	{Frame: "res channels.*", Kind: Unknown, By: later},
	{Frame: "res cron.*", Kind: Unknown, By: later},
	{Frame: "res exec.approval*", Kind: Unknown, By: later},
	{Frame: "res node.*", Kind: Unknown, By: later},
	{Frame: "res send *", Kind: Unknown, By: later},
	{Frame: "res skills.*", Kind: Unknown, By: later},
	{Frame: "res talk.mode *", Kind: Unknown, By: later},
	{Frame: "res tts.*", Kind: Unknown, By: later},
	{Frame: "res voicewake.*", Kind: Unknown, By: later},
	{Frame: "res web.login.*", Kind: Unknown, By: later},
	{Frame: "res wizard.*", Kind: Unknown, By: later},
	{Frame: "event talk.mode", Kind: Missing, By: later, Why: "nobody can set it"},
	{Frame: "event voicewake.changed", Kind: Missing, By: later, Why: "nobody can set it"},
	{Scenario: "models-skills-agents", Frame: "event shutdown", Kind: Missing, By: later, Why: "without skills.update there is no restart"},
	{Scenario: "models-skills-agents", Frame: "close", Kind: Close, By: later, Why: "as above"},
	{Scenario: "sessions", Frame: "res sessions.*", Path: "payload.entry.skillsSnapshot", Kind: Missing, By: later},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.skills.entries.*", Kind: Missing, By: later},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.skills.promptChars", Kind: Value, By: later},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.entries.*", Kind: Missing, By: later, Why: "most tools of the reference"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.entries.*.name", Kind: Value, By: later, Why: "as above, the order shifts"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.entries.*.propertiesCount", Kind: Value, By: later, Why: "as above"},
	{Scenario: "chat-commands", Frame: "event chat idem-cmd-[58] final", Path: "payload.message.stopReason", Kind: Missing, By: later, Why: "/context and /compact, the model sees them"},
	{Scenario: "chat-commands", Frame: "event chat idem-cmd-[58] final", Path: "payload.message.usage", Kind: Missing, By: later, Why: "as above"},
	{Scenario: "chat-commands", Frame: "event chat idem-cmd-[58] final", Path: "payload.seq", Kind: Value, By: later, Why: "as above"},
	{Scenario: "chat-commands", Frame: "event agent idem-cmd-[58] *", Kind: Extra, By: later, Why: "as above"},
	{Scenario: "agent-errors", Frame: "event agent idem-err-[45] compaction.*", Kind: Missing, By: later, Why: "compaction, AR 17.1"},
	{Scenario: "agent-errors", Frame: "event agent idem-err-5 lifecycle.start", Path: "payload.seq", Kind: Value, By: later, Why: "its events had numbers"},

	// Prompt, tools, templates and catalog are our own.
	{Frame: "res agent *", Path: "payload.result.meta.agentMeta.usage.[it]*", Kind: Value, By: ownText, Why: "another length of the prompt"},
	{Frame: "res chat.history *", Path: "payload.messages.*.usage.[it]*", Kind: Value, By: ownText, Why: "as above"},
	{Scenario: "sessions", Frame: "res sessions.*", Path: "payload.*.[it]*Tokens", Kind: Value, By: ownText, Why: "as above"},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.injectedWorkspaceFiles.*.*Chars", Kind: Value, By: ownText},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.systemPrompt.*", Kind: Value, By: ownText},
	{Frame: "res agent *", Path: "payload.result.meta.systemPromptReport.tools.*Chars", Kind: Value, By: ownText},
	{Scenario: "models-skills-agents", Frame: "res models.list *", Path: "payload.models.*", Kind: Value, By: ownText, Why: "our own catalog of models"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints.*", Kind: Extra, By: ownText, Why: "every key has a label"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints.*.label", Kind: Value, By: ownText},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints.*.help", Kind: Missing, By: ownText},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints.*.order", Kind: Value, By: ownText},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.uiHints....", Kind: Missing, By: ownText, Why: "the recording is cut there"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.schema", Kind: Value, By: ownText,
		Why: "not in the recording; internal/config compares its keys with those of the reference"},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.generatedAt", Kind: Value, By: ownTime},
	{Scenario: "config", Frame: "res config.schema *", Path: "payload.version", Kind: Value, By: ownVersion},

	// Errors of a model.
	{Frame: "event chat * final", Path: "payload.errorMessage", Kind: Extra, By: "GP 9.6", Why: "a reply that failed says why, also in the chat"},
	{Scenario: "agent-wait", Frame: "res agent r7", Path: "payload.result.payloads.0.text", Kind: Value, By: "AR 13.3"},
	{Scenario: "agent-errors", Frame: "res agent r[2-7]", Path: "payload.result.payloads.0.text", Kind: Value, By: "AR 13.3"},
	{Scenario: "agent-anthropic", Frame: "res agent r4", Path: "payload.result.payloads.0.text", Kind: Value, By: "AR 13.3"},
	{Scenario: "agent-responses", Frame: "res agent r4", Path: "payload.result.payloads.0.text", Kind: Value, By: "AR 13.3"},
	{Frame: "res chat.history *", Path: "payload.messages.*.errorMessage", Kind: Value, By: "AR 13.3"},
	{Scenario: "agent-errors", Frame: "res agent r6", Path: "payload.result.meta.error", Kind: Extra, By: "AR 11.2"},
	{Scenario: "agent-errors", Frame: "res agent r7", Path: "payload.result.payloads.[234]", Kind: Missing, By: "AR 11.4", Why: "what a failed attempt said is dropped"},
	{Scenario: "agent-errors", Frame: "event agent idem-err-5 *", Path: "payload.sessionKey", Kind: Extra, By: "GP 9.5", Why: "not only in the first attempt"},
	{Scenario: "agent-errors", Frame: "event * idem-err-5 *", Path: "payload.seq", Kind: Value, By: "GP 9.5", Why: "start and end of further attempts had numbers"},
	{Scenario: "agent-errors", Frame: "event agent idem-err-6 assistant", Kind: Extra, By: "AR 11.4", Why: "bad arguments of a tool do not end the run"},
	{Scenario: "agent-errors", Frame: "event chat idem-err-6 final", Path: "payload.message", Kind: Extra, By: "AR 11.4", Why: "as above"},
	{Scenario: "agent-errors", Frame: "event * idem-err-6 *", Path: "payload.seq", Kind: Value, By: "AR 11.4", Why: "as above"},
	{Scenario: "agent-errors", Frame: "res agent r8", Path: "payload.result.payloads.0.text", Kind: Value, By: "AR 11.4", Why: "as above"},
	{Scenario: "agent-errors", Frame: "res agent r8", Path: "payload.result.meta.agentMeta.usage.output", Kind: Value, By: "AR 11.4", Why: "as above"},
	{Scenario: "agent-responses", Frame: "res chat.history *", Path: "payload.messages.*.content.*.partialJson", Kind: Missing, By: "AR 6.1"},

	// Stricter by decision.
	{Frame: "res connect *", Path: "payload.snapshot.configPath", Kind: Missing, By: "GP 3.5 [HARD]", Why: "told to admins only"},
	{Frame: "res connect *", Path: "payload.snapshot.stateDir", Kind: Missing, By: "GP 3.5 [HARD]", Why: "told to admins only"},
	{Scenario: "connect-ok", Conn: "c2", Frame: "res connect *", Path: "payload.snapshot.presence.1.scopes", Kind: Missing, By: "GP 5.6 [HARD]"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "res connect *", Path: "ok", Kind: Value, By: "GP 7.2 [HARD]",
		Why: "a known device gets more scopes without asking only as a command line client"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "res connect *", Path: "payload", Kind: Missing, By: "GP 7.2 [HARD]", Why: "as above"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "res connect *", Path: "error", Kind: Extra, By: "GP 7.2 [HARD]", Why: "as above"},
	{Scenario: "connect-device-signed", Conn: "scope-upgrade", Frame: "event health", Kind: Missing, By: "GP 7.2 [HARD]", Why: "as above"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "event health", Kind: Missing, By: "GP 3.4 [HARD]", Why: "every device must sign the nonce"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "res connect *", Path: "ok", Kind: Value, By: "GP 3.4 [HARD]", Why: "every device must sign the nonce"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "res connect *", Path: "payload", Kind: Missing, By: "GP 3.4 [HARD]", Why: "as above"},
	{Scenario: "connect-device-signed", Conn: "v1-no-nonce", Frame: "res connect *", Path: "error", Kind: Extra, By: "GP 3.4 [HARD]", Why: "as above"},
	{Frame: "res config.*", Path: "payload.*.gateway.auth.token", Kind: Value, By: "GP 10.4 [HARD]", Why: "a sentinel in its place"},
	{Frame: "res config.*", Path: "payload.*.models.providers.*.apiKey", Kind: Value, By: "GP 10.4 [HARD]", Why: "a sentinel in its place"},
	{Frame: "res config.get *", Path: "payload.raw", Kind: Value, By: "GP 10.4 [HARD]", Why: "as above, and the test writes its keys in another order"},

	// Protocol 4, and what came with it.
	{Frame: "res connect *", Path: "error.details", Kind: Extra, By: "GP 15.4", Why: "on protocol 3 as well"},
	{Scenario: "connect-pairing-remote", Frame: "res connect *", Path: "error.details.*", Kind: Extra, By: "GP 15.4", Why: "on protocol 3 as well"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-old", Frame: "res connect *", Path: "error.details.*", Kind: Extra, By: "GP 15.1"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "res connect *", Path: "ok", Kind: Value, By: "GP 3.6", Why: "we speak 4"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "res connect *", Path: "payload", Kind: Extra, By: "GP 3.6", Why: "as above"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "res connect *", Path: "error", Kind: Missing, By: "GP 3.6", Why: "as above"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "event health", Kind: Extra, By: "GP 3.6", Why: "as above"},
	{Scenario: "connect-protocol-mismatch", Conn: "too-new", Frame: "close", Kind: Close, By: "GP 3.6", Why: "as above"},
	{Scenario: "client-openclaw-node-0.14-mismatch", Frame: "res connect *", Path: "ok", Kind: Value, By: "GP 3.6", Why: "that client finds its protocol here"},
	{Scenario: "client-openclaw-node-0.14-mismatch", Frame: "res connect *", Path: "payload", Kind: Extra, By: "GP 3.6", Why: "as above"},
	{Scenario: "client-openclaw-node-0.14-mismatch", Frame: "res connect *", Path: "error", Kind: Missing, By: "GP 3.6", Why: "as above"},
	{Scenario: "client-openclaw-node-0.14-mismatch", Frame: "event health", Kind: Extra, By: "GP 3.6", Why: "as above"},
	{Scenario: "client-openclaw-node-0.14-mismatch", Frame: "close", Kind: Close, By: "GP 3.6", Why: "as above"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.protocol", Kind: Value, By: "GP 3.6",
		Why: "the highest version of the range is taken"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.features.methods.sessions.*", Kind: Extra, By: "GP 15.5"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.features.events.*", Kind: Extra, By: "GP 15.5"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.policy.attachments", Kind: Extra, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.policy.maxBufferedBytes", Kind: Value, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.server.host", Kind: Missing, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.server.bootId", Kind: Extra, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.snapshot.authMode", Kind: Extra, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.auth", Kind: Extra, By: "GP 15.3"},
	{Scenario: "connect-protocol-mismatch", Conn: "range-that-holds-3", Frame: "res connect *", Path: "payload.snapshot.presence.2", Kind: Extra, By: "GP 3.6",
		Why: "the one before it had been let in"},
	{Scenario: "connect-bad-first-frame", Conn: "bad-params", Frame: "res connect *", Path: "error.message", Kind: Value, By: "GP 3.2", Why: "unknown keys are ignored, newer clients send them"},
	{Scenario: "connect-bad-first-frame", Conn: "bad-params", Frame: "close", Kind: Close, By: "GP 3.2", Why: "as above"},

	// Events and messages.
	{Scenario: "device-tokens", Frame: "event presence", Path: "payload.presence.1.reason", Kind: Value, By: "GP 9.3", Sometimes: true, Why: "others hear at once who comes, not only who goes"},
	{Frame: "event presence", Kind: Extra, By: "GP 9.3", Why: "others hear at once who comes"},
	{Frame: "event health", Kind: Merged, By: "GW-086", Why: "refreshes within half a second share one event"},
	{Scenario: "chat-abort", Frame: "event agent * lifecycle.end", Kind: Extra, By: "GP 9.5", Why: "aborted runs have a terminal phase, too"},
	{Scenario: "chat-abort", Frame: "res chat.history *", Path: "payload.messages.+", Kind: Extra, By: "AR 6.6",
		Why: "the message of a stopped run stays, and its open tool calls are closed"},
	{Scenario: "queue-*", Frame: "res chat.history *", Path: "payload.messages.0.usage.*", Kind: Extra, By: "AR 6.1", Why: "the usage of an assistant message is whole, also of one that no model wrote"},
	{Scenario: "sessions", Frame: "res sessions.list r5", Path: "payload.sessions.0.derivedTitle", Kind: Value, By: "GP 10.3",
		Why: "the reference does not find the transcripts when it lists more than one store"},
	{Scenario: "sessions", Frame: "res sessions.list r5", Path: "payload.sessions.0.lastMessagePreview", Kind: Extra, By: "GP 10.3", Why: "as above"},
	{Scenario: "tick-shutdown", Frame: "event shutdown", Path: "payload.restartExpectedMs", Kind: Missing, By: "GP 9.3", Why: "left out on a plain stop, never null"},

	// The config.
	{Frame: "res config.*", Path: "payload.*.gateway.port", Kind: Value, By: ownHost, Why: "a free port"},
	{Scenario: "config", Frame: "res config.*", Path: "payload.*.meta.lastTouchedAt", Kind: Value, By: ownTime},
	{Scenario: "config", Frame: "res config.*", Path: "payload.*.meta.lastTouchedVersion", Kind: Value, By: ownVersion},
	{Frame: "res config.*", Path: "payload.config.logging", Kind: Extra, By: "GP 10.4", Why: "defaults show also where the file lacks the whole section"},
	{Frame: "res config.*", Path: "payload.config.session", Kind: Extra, By: "GP 10.4", Why: "as above"},
}
