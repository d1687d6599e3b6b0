package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"path"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/lcm"
)

// action is something that can be decided about an operation, as a button.
type action struct {
	Path    string
	Text    string
	Mode    lcm.CancelMode // of a cancellation
	Confirm string         // what is asked before it is done; "": nothing
	Means   string         // what it does
	Severe  bool
}

// actions are those that the state of an operation allows and that the caller may decide on.
func (u *UI) actions(ctx context.Context, of *lcm.Operation) []action {
	writing, ok := u.may(ctx, writeOperations)
	if !ok || !access.Of(writing).Sees(of.ProjectID) {
		return nil
	}
	var found []action
	add := func(event lcm.Event, a action) {
		if _, err := of.State.Next(event); err == nil {
			a.Path = path.Join(Root, "operations", of.ID.String(), a.Path)
			found = append(found, a)
		}
	}
	add(lcm.EventRetry, action{Path: "retry", Text: "Retry", Means: "goes on with the step that failed"})
	if of.CanRollBack() {
		add(lcm.EventRollback, action{Path: "rollback", Text: "Roll back", Severe: true, Means: "undoes what the operation has done",
			Confirm: "Undo what this operation has done?"})
	}
	add(lcm.EventFail, action{Path: "fail", Text: "Fail", Severe: true, Means: "gives the operation up and leaves what there is as it is",
		Confirm: "Give this operation up? It cannot be retried then."})
	if of.CancelMode == "" {
		add(lcm.EventCancel, action{Path: "cancel", Mode: lcm.CancelGraceful, Text: "Cancel", Means: "stops after the step that is under way",
			Confirm: "Stop this operation after the step that is under way?"})
	}
	if of.CancelMode != lcm.CancelForceful {
		add(lcm.EventCancel, action{Path: "cancel", Mode: lcm.CancelForceful, Text: "Cancel now", Severe: true, Means: "stops in the middle of the step",
			Confirm: "Stop this operation at once, in the middle of a step?"})
	}
	return found
}

// decide is the handler of a decision. The page of the operation is shown then.
func (u *UI) decide(decision func(context.Context, uuid.UUID) (*lcm.Operation, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := idOf(c, "vnfLcmOpOccId", operationResource)
		if err != nil {
			return err
		}
		if _, err := decision(c.Request().Context(), id); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, path.Join(Root, "operations", id.String()))
	}
}

// cancel asks for the end of an operation that is under way.
func (u *UI) cancel(c echo.Context) error {
	if err := readForm(c); err != nil {
		return err
	}
	mode := lcm.CancelMode(c.Request().PostForm.Get("mode"))
	if mode != lcm.CancelGraceful && mode != lcm.CancelForceful {
		return &lcm.InvalidRequest{Attribute: "mode", Detail: "a cancellation is GRACEFUL or FORCEFUL"}
	}
	return u.decide(func(ctx context.Context, id uuid.UUID) (*lcm.Operation, error) {
		params, err := json.Marshal(lcm.CancelRequest{CancelMode: mode})
		if err != nil {
			return nil, err
		}
		return u.config.Operations.Cancel(ctx, id, params)
	})(c)
}
