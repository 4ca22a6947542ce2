package protocol

// Schedule says when a job runs. Kind decides which fields are set.
type Schedule struct {
	Kind     string `json:"kind" schema:"enum=at|every|cron"`
	At       string `json:"at,omitempty" schema:"minLength=1"`   // at: ISO 8601
	EveryMs  int64  `json:"everyMs,omitempty" schema:"min=1"`    // every
	AnchorMs *int64 `json:"anchorMs,omitempty" schema:"min=0"`   // every
	Expr     string `json:"expr,omitempty" schema:"minLength=1"` // cron
	TZ       string `json:"tz,omitempty"`                        // cron
}

// CronPayload is what a job does: a system event in the main session or an
// isolated agent turn.
type CronPayload struct {
	Kind           string `json:"kind" schema:"enum=systemEvent|agentTurn"`
	Text           string `json:"text,omitempty" schema:"minLength=1"`    // systemEvent
	Message        string `json:"message,omitempty" schema:"minLength=1"` // agentTurn
	Model          string `json:"model,omitempty"`
	Thinking       string `json:"thinking,omitempty"`
	TimeoutSeconds *int   `json:"timeoutSeconds,omitempty" schema:"min=1"`
}

// CronDelivery says where the result of an agent turn goes.
type CronDelivery struct {
	Mode       string `json:"mode" schema:"enum=none|announce"`
	Channel    string `json:"channel,omitempty" schema:"minLength=1"` // "last" or a channel
	To         string `json:"to,omitempty"`
	BestEffort *bool  `json:"bestEffort,omitempty"`
}

// CronState is how a job fares.
type CronState struct {
	NextRunAtMs    *int64 `json:"nextRunAtMs,omitempty" schema:"min=0"`
	RunningAtMs    *int64 `json:"runningAtMs,omitempty" schema:"min=0"`
	LastRunAtMs    *int64 `json:"lastRunAtMs,omitempty" schema:"min=0"`
	LastStatus     string `json:"lastStatus,omitempty" schema:"enum=ok|error|skipped"`
	LastError      string `json:"lastError,omitempty"`
	LastDurationMs *int64 `json:"lastDurationMs,omitempty" schema:"min=0"`
}

// CronJob is a scheduled job, also the result of cron.add and cron.update.
type CronJob struct {
	ID             string        `json:"id" schema:"minLength=1"`
	AgentID        string        `json:"agentId,omitempty" schema:"minLength=1"`
	Name           string        `json:"name" schema:"minLength=1"`
	Description    string        `json:"description,omitempty"`
	Enabled        bool          `json:"enabled"`
	DeleteAfterRun *bool         `json:"deleteAfterRun,omitempty"`
	CreatedAtMs    int64         `json:"createdAtMs" schema:"min=0"`
	UpdatedAtMs    int64         `json:"updatedAtMs" schema:"min=0"`
	Schedule       Schedule      `json:"schedule"`
	SessionTarget  string        `json:"sessionTarget" schema:"enum=main|isolated"`
	WakeMode       string        `json:"wakeMode" schema:"enum=next-heartbeat|now"`
	Payload        CronPayload   `json:"payload"`
	Delivery       *CronDelivery `json:"delivery,omitempty"`
	State          CronState     `json:"state"`
}

// CronListParams filters the list of jobs.
type CronListParams struct {
	IncludeDisabled bool `json:"includeDisabled,omitempty"`
}

// CronListResult lists jobs by the time of their next run.
type CronListResult struct {
	Jobs []CronJob `json:"jobs"`
}

// CronStatusResult is the state of the scheduler.
type CronStatusResult struct {
	Enabled      bool   `json:"enabled"`
	StorePath    string `json:"storePath"`
	Jobs         int    `json:"jobs"`
	NextWakeAtMs *int64 `json:"nextWakeAtMs"`
}

// CronAddParams is a new job, after normalisation.
type CronAddParams struct {
	Name           string           `json:"name" schema:"minLength=1"`
	AgentID        Nullable[string] `json:"agentId,omitzero" schema:"minLength=1"`
	Description    string           `json:"description,omitempty"`
	Enabled        *bool            `json:"enabled,omitempty"`
	DeleteAfterRun *bool            `json:"deleteAfterRun,omitempty"`
	Schedule       Schedule         `json:"schedule"`
	SessionTarget  string           `json:"sessionTarget" schema:"enum=main|isolated"`
	WakeMode       string           `json:"wakeMode" schema:"enum=next-heartbeat|now"`
	Payload        CronPayload      `json:"payload"`
	Delivery       *CronDelivery    `json:"delivery,omitempty"`
}

// CronID names a job by either of its keys; one is required.
type CronID struct {
	ID    string `json:"id,omitempty" schema:"minLength=1"`
	JobID string `json:"jobId,omitempty" schema:"minLength=1"`
}

// CronUpdateParams changes a job.
type CronUpdateParams struct {
	CronID
	Patch CronPatch `json:"patch"`
}

// CronPatch holds what changes; payload, delivery and state are merged.
type CronPatch struct {
	Name           string           `json:"name,omitempty" schema:"minLength=1"`
	AgentID        Nullable[string] `json:"agentId,omitzero" schema:"minLength=1"`
	Description    *string          `json:"description,omitempty"`
	Enabled        *bool            `json:"enabled,omitempty"`
	DeleteAfterRun *bool            `json:"deleteAfterRun,omitempty"`
	Schedule       *Schedule        `json:"schedule,omitempty"`
	SessionTarget  string           `json:"sessionTarget,omitempty" schema:"enum=main|isolated"`
	WakeMode       string           `json:"wakeMode,omitempty" schema:"enum=next-heartbeat|now"`
	Payload        *CronPayload     `json:"payload,omitempty"`
	Delivery       *DeliveryPatch   `json:"delivery,omitempty"`
	State          *CronState       `json:"state,omitempty"`
}

// DeliveryPatch changes parts of a delivery.
type DeliveryPatch struct {
	Mode       string  `json:"mode,omitempty" schema:"enum=none|announce"`
	Channel    string  `json:"channel,omitempty" schema:"minLength=1"`
	To         *string `json:"to,omitempty"`
	BestEffort *bool   `json:"bestEffort,omitempty"`
}

// CronRemoveParams removes a job.
type CronRemoveParams struct{ CronID }

// CronRemoveResult says whether there was such a job.
type CronRemoveResult struct {
	OK      bool `json:"ok"`
	Removed bool `json:"removed"`
}

// CronRunParams runs a job now, by default only if it is due.
type CronRunParams struct {
	CronID
	Mode string `json:"mode,omitempty" schema:"enum=due|force"`
}

// CronRunResult says whether the job ran.
type CronRunResult struct {
	OK     bool   `json:"ok"`
	Ran    bool   `json:"ran"`
	Reason string `json:"reason,omitempty"`
}

// CronRunsParams asks for the log of a job. Limit nil means 200.
type CronRunsParams struct {
	CronID
	Limit *int `json:"limit,omitempty" schema:"min=1,max=5000"`
}

// CronRunsResult is the log of a job, oldest first.
type CronRunsResult struct {
	Entries []CronRunEntry `json:"entries"`
}

// CronRunEntry is one line of the log.
type CronRunEntry struct {
	_           struct{} `schema:"open"`
	Ts          int64    `json:"ts"`
	JobID       string   `json:"jobId"`
	Action      string   `json:"action" schema:"const=finished"`
	Status      string   `json:"status,omitempty" schema:"enum=ok|error|skipped"`
	Error       string   `json:"error,omitempty"`
	Summary     string   `json:"summary,omitempty"`
	RunAtMs     *int64   `json:"runAtMs,omitempty"`
	DurationMs  *int64   `json:"durationMs,omitempty"`
	NextRunAtMs *int64   `json:"nextRunAtMs,omitempty"`
}

// CronEvent is the payload of cron.
type CronEvent struct {
	JobID       string `json:"jobId" schema:"minLength=1"`
	Action      string `json:"action" schema:"enum=added|updated|removed|started|finished"`
	RunAtMs     *int64 `json:"runAtMs,omitempty"`
	DurationMs  *int64 `json:"durationMs,omitempty"`
	Status      string `json:"status,omitempty" schema:"enum=ok|error|skipped"`
	Error       string `json:"error,omitempty"`
	Summary     string `json:"summary,omitempty"`
	NextRunAtMs *int64 `json:"nextRunAtMs,omitempty"`
}

// WakeParams queues a system event in the main session.
type WakeParams struct {
	Mode string `json:"mode" schema:"enum=now|next-heartbeat"`
	Text string `json:"text" schema:"minLength=1"`
}
