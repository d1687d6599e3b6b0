package lcm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// progress is what the engine remembers, in place of the output, of a step that is not done.
type progress struct {
	TroubleSince time.Time       `json:"troubleSince,omitzero"` // since when the step cannot go on
	State        json.RawMessage `json:"state,omitempty"`       // what the step keeps between its calls
}

func progressOf(record *StepRecord) progress {
	var p progress
	if json.Unmarshal(record.Output, &p) != nil {
		return progress{}
	}
	return p
}

func (p progress) keep(record *StepRecord) { record.Output, _ = json.Marshal(p) } // a time.Time and a valid document always marshal

// waits notes what a step waits for. What it keeps for its next call is committed at once, since it may be the handle of work that
// goes on elsewhere.
func (a *attempt) waits(ctx context.Context, record *StepRecord, result Result) error {
	p := progress{}
	if result.state != nil {
		state, err := json.Marshal(result.state)
		if err != nil {
			return &Failure{Title: "Internal error", Status: http.StatusInternalServerError, Detail: "keep state of step " + record.Name + ": " + err.Error()}
		}
		p.State = state
	}
	a.tell(record, result.detail)
	changed := !bytes.Equal(p.State, progressOf(record).State)
	p.keep(record)
	if !changed {
		return nil
	}
	err := a.commit(ctx, Commit{Deployment: true, Steps: []StepRecord{*record}})
	if err != nil && !errors.Is(err, ErrSuperseded) {
		a.log.WarnContext(ctx, "state of a step is not stored yet", "step", record.Name, "error", err)
		return nil
	}
	return err
}
