package byo

import "time"

// Sizes. See docs/byo.md#limits.
const (
	KeySize        = 32 // of a public key
	CommitmentSize = 32
	PairNonceSize  = 32
	ConfirmSize    = 32
	PSKSize        = 16
	MinToken       = 16 // characters of a token of the direct topology

	MaxIncomingBody   = 262144
	MaxCallbackBody   = 262144
	MaxText           = 16000 // code points of payload.text
	MaxSessionID      = 128
	MaxMessageID      = 200
	MaxMeta           = 200 // characters of a metadata value of an envelope
	MaxLabel          = 200
	MaxReplyPart      = 32 << 10 // characters of one reply_text; longer ones are split
	MaxJobBody        = 256 << 10
	MaxCompletionBody = 512 << 10
	MaxInlineFrame    = 128 << 10 // longer stream frames become stubs
	MaxSmallBody      = 64 << 10  // every other body of the relay API
	MaxControlBody    = 128 << 10
	MaxEvent          = 256 << 10 // of /v1/events
	MaxOutputTokens   = 4096

	MaxProfile            = 32 << 10
	MaxProfileDescription = 2000
	MaxProfileList        = 100
	MaxSkillDescription   = 200
)

// Numbers of things.
const (
	MaxOpenJobs        = 64
	MaxJobsPerMinute   = 60
	MaxQueuedEvents    = 512
	MaxDesktopEvents   = 1024
	MaxIntegrations    = 16 // of a desktop
	MaxOpenPairings    = 5  // of a desktop
	MaxDesktopStreams  = 4
	MaxConcurrentJobs  = 4 // of an assistant, for each integration
	PairPerAddress     = 5 // POST /pair/complete in a minute
	PairPerNetwork     = 20
	WrongCodes         = 10 // in WrongCodesWindow
	MaxEventSessions   = 256
	MaxEventReaders    = 64
	MaxSessionReaders  = 4
	MaxSessionEvents   = 64
	MaxSessionEventsSz = 1 << 20
)

// Times.
const (
	MinDeadline      = time.Second
	MaxDeadline      = 10 * time.Minute
	DeadlineGrace    = 30 * time.Second // after which a receiver refuses to open a job
	PairingTTL       = 300 * time.Second
	WrongCodesWindow = 5 * time.Minute
	WrongCodesBlock  = 15 * time.Minute
	HeartbeatEvery   = 30 * time.Second
	HeartbeatMinGap  = 5 * time.Second
	FreshFor         = 90 * time.Second
	OfflineAfter     = 5 * time.Minute
	StreamMinGap     = time.Second      // between two streams of one integration
	KeepAliveEvery   = 15 * time.Second // relay streams
	EventsKeepAlive  = 20 * time.Second // /v1/events
	EventsStall      = 30 * time.Second
	EventsIdle       = 30 * time.Minute
	AckWithin        = 10 * time.Second
	MaxRedeliveries  = 3
	OldTokenFor      = 60 * time.Second
	ResultsFor       = time.Hour
	EventsFor        = 24 * time.Hour
	MaxWait          = 30 * time.Second // of GET /reasoning-jobs/{id}?wait_ms=
	TestWithin       = 20 * time.Second
	ProbeWithin      = 20 * time.Second // of a direct pairing
	CallbackTimeout  = 5 * time.Second
	IncomingTimeout  = 10 * time.Second
	TypingEvery      = 15 * time.Second
	InactiveAfter    = 90 * time.Second
)

// DefaultPort of the assistant's listener.
const DefaultPort = 8765
