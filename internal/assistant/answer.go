package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/schema"
)

// ask has the agent answer and checks what it says; once it may correct itself.
func (c *Client) ask(ctx context.Context, row *jobRow) (byo.ReasoningOutput, error) {
	q, err := question(row)
	if err != nil {
		return byo.ReasoningOutput{}, err
	}
	answer, value, err := fitting(ctx, c.think, q)
	if err != nil {
		return byo.ReasoningOutput{}, err
	}
	out := byo.ReasoningOutput{Result: value, ProviderRunID: answer.RunID, ModelRef: answer.ModelRef}
	if len(answer.Usage) > 0 {
		var usage byo.Usage
		if json.Unmarshal(answer.Usage, &usage) == nil {
			out.Usage = &usage
		}
	}
	return out, nil
}

// fitting asks until the answer fits its schema, which may be once more.
func fitting(ctx context.Context, think func(context.Context, Question) (Answer, error), q Question) (Answer, json.RawMessage, error) {
	answer, err := think(ctx, q)
	if err != nil {
		return answer, nil, err
	}
	value, problem := fit(answer.Text, q.Schema)
	if problem != nil && time.Until(deadlineOf(ctx)) >= repairNeeds {
		again := q
		again.Input = fmt.Sprintf("%s\n\nYour last reply was:\n%s\n\nIt was not accepted: %s. Reply again, with the JSON value alone.", q.Input, clip(answer.Text), problem.text)
		if answer, err = think(ctx, again); err != nil {
			return answer, nil, err
		}
		value, problem = fit(answer.Text, q.Schema)
	}
	if problem != nil {
		return answer, nil, problem
	}
	return answer, value, nil
}

// Check asks what a desktop asks during a call, about a call that is made up, and
// returns the answer if it has the form that desktops need. The context has a deadline.
func Check(ctx context.Context, reason func(context.Context, Question) (Answer, error), model string) (Answer, json.RawMessage, error) {
	input, err := json.Marshal(byo.ReasoningInput{SystemInstruction: "Name what the person called Me should know right now, one short sentence each.",
		UserPrompt: "Them: Your offer is 20 percent above what we pay now, and we would have to cancel a contract to take it.\nMe: I will send you a comparison by Friday."})
	if err != nil {
		return Answer{}, nil, err
	}
	q, err := question(&jobRow{Input: input, Job: &byo.Job{JobID: "check", Purpose: byo.PurposeLiveAnalysis, Model: model, ResponseSchema: byo.ResponseSchema(byo.PurposeLiveAnalysis)}})
	if err != nil {
		return Answer{}, nil, err
	}
	return fitting(ctx, reason, q)
}

func deadlineOf(ctx context.Context) time.Time {
	t, _ := ctx.Deadline()
	return t
}

// clip bounds what a second question quotes of the first answer.
func clip(s string) string { return s[:min(len(s), 16<<10)] }

// think calls the agent; a panic in it ends this job only.
func (c *Client) think(ctx context.Context, q Question) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the agent broke down: %v", p)
		}
	}()
	a, err = c.cfg.Agent.Reason(ctx, q)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // too late is too late
	}
	return a, err
}

// fit parses an answer and checks it against the schema.
func fit(text string, schemaJSON json.RawMessage) (json.RawMessage, *jobError) {
	value := []byte(unfence(text))
	if !json.Valid(value) {
		return nil, &jobError{byo.FailResponseParse, "it is not JSON"}
	}
	if err := schema.Validate(schemaJSON, value); err != nil {
		var problems *schema.Errors
		if !errors.As(err, &problems) {
			return nil, &jobError{byo.FailSchemaValidation, "its schema cannot be used: " + err.Error()}
		}
		return nil, &jobError{byo.FailSchemaValidation, err.Error()}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, &jobError{byo.FailResponseParse, "it is not JSON"}
	}
	return compact.Bytes(), nil
}

// unfence takes one code fence off that stands around a text.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "```") || len(text) < 6 {
		return text
	}
	inner := text[3 : len(text)-3]
	if i := strings.IndexByte(inner, '\n'); i >= 0 && !strings.ContainsAny(inner[:i], "{}[]\"") {
		inner = inner[i+1:] // the fence's language
	}
	return strings.TrimSpace(inner)
}

// describe answers a capability probe: the lists come from the agent's own registry,
// only the description is generated.
func (c *Client) describe(ctx context.Context, row *jobRow) (byo.ReasoningOutput, error) {
	profile, err := c.cfg.Agent.Describe(ctx)
	if err != nil {
		return byo.ReasoningOutput{}, err
	}
	if profile.Agent == nil {
		profile.Agent = &byo.ProfileAgent{ProviderKind: c.pairing.ProviderKind, Version: c.cfg.Version}
	}
	known, err := json.Marshal(profile)
	if err != nil {
		return byo.ReasoningOutput{}, err
	}
	answer, err := c.think(ctx, Question{ID: row.Job.JobID, Purpose: row.Job.Purpose, MaxTokens: byo.MaxOutputTokens,
		System: "Someone who speaks with people on live calls is about to rely on you. Say in plain text, in at most 150 words, what you can help with during and after a call.",
		Input:  string(known)})
	if err != nil {
		return byo.ReasoningOutput{}, err
	}
	profile.RawDescription = strings.TrimSpace(answer.Text)
	profile = profile.Clamp()
	if err := profile.Validate(); err != nil {
		return byo.ReasoningOutput{}, &jobError{byo.FailSchemaValidation, "The assistant described nothing."}
	}
	value, err := json.Marshal(profile)
	return byo.ReasoningOutput{Result: value, ModelRef: answer.ModelRef, ProviderRunID: answer.RunID}, err
}
