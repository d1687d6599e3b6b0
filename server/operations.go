package server

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/lcm"
)

func operationID(c echo.Context) (uuid.UUID, error) {
	return id(c, "vnfLcmOpOccId", "vnf lcm operation occurrence")
}

// vnfLcmOpOcc is the wire form of an operation.
func vnfLcmOpOcc(operation *lcm.Operation) api.VnfLcmOpOcc {
	self := opOccsPath + operation.ID.String()
	shown := api.VnfLcmOpOcc{
		ID:                    operation.ID.String(),
		OperationState:        api.LcmOperationStateType(operation.State),
		StateEnteredTime:      operation.StateEnteredAt.UTC(),
		StartTime:             operation.StartedAt.UTC(),
		VnfInstanceID:         operation.VnfInstanceID.String(),
		Operation:             api.LcmOperationType(operation.Type),
		GrantID:               operation.GrantID,
		IsAutomaticInvocation: operation.IsAutomaticInvocation,
		OperationParams:       operation.Params,
		UnderscoreLinks: api.VnfLcmOpOccLinks{
			Self: api.Link{Href: self}, VnfInstance: api.Link{Href: instancesPath + operation.VnfInstanceID.String()},
		},
	}
	if operation.GrantID != "" {
		shown.UnderscoreLinks.Grant = api.Link{Href: operation.GrantURI}
	}
	if operation.Error != nil {
		shown.Error = &api.ProblemDetails{
			Title: operation.Error.Title, Status: operation.Error.Status, Detail: operation.Error.Detail,
		}
	}
	if operation.ResourceChanges != nil {
		shown.ResourceChanges = operation.ResourceChanges
	}
	if operation.CancelMode != "" {
		shown.IsCancelPending, shown.CancelMode = true, api.CancelModeType(operation.CancelMode)
	}
	if operation.ChangedInfo != nil {
		shown.ChangedInfo = operation.ChangedInfo
	}
	if operation.ChangedExtConnectivity != nil {
		shown.ChangedExtConnectivity = operation.ChangedExtConnectivity
	}
	if p := operation.Progress; p != nil {
		shown.Progress = api.OperationProgress{Step: p.Step, Since: p.Since.UTC(), Detail: p.Detail}
	}
	if operation.State.Transient() {
		shown.UnderscoreLinks.Cancel = api.Link{Href: self + "/cancel"}
	}
	if operation.State == lcm.StateFailedTemp {
		shown.UnderscoreLinks.Retry = api.Link{Href: self + "/retry"}
		shown.UnderscoreLinks.Fail = api.Link{Href: self + "/fail"}
		if operation.CanRollBack() {
			shown.UnderscoreLinks.Rollback = api.Link{Href: self + "/rollback"}
		}
	}
	return shown
}

func (s *Server) listOperations(c echo.Context) error {
	asked, err := s.ask(c, s.operations)
	if err != nil {
		return err
	}
	operations, more, err := s.config.Operations.Operations(c.Request().Context(), asked.page())
	if err != nil {
		return err
	}
	return answerList(c, asked, operations, vnfLcmOpOcc, more,
		func(last *lcm.Operation) cursor { return cursor{last.StartedAt.UnixMicro(), last.ID} })
}

func (s *Server) showOperation(c echo.Context) error {
	id, err := operationID(c)
	if err != nil {
		return err
	}
	operation, err := s.config.Operations.Operation(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, vnfLcmOpOcc(operation))
}

// fail gives an operation up, and answers with it as it then is.
func (s *Server) fail(c echo.Context) error {
	id, err := operationID(c)
	if err != nil {
		return err
	}
	operation, err := s.config.Operations.Fail(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, vnfLcmOpOcc(operation))
}

// cancel asks for the end of an operation under way.
func (s *Server) cancel(c echo.Context) error {
	id, err := operationID(c)
	if err != nil {
		return err
	}
	if _, err := s.config.Operations.Cancel(c.Request().Context(), id, body(c)); err != nil {
		return err
	}
	return underWay(c, id)
}

// decide is the handler of what a client decides about an operation in FAILED_TEMP.
func (s *Server) decide(event func(context.Context, uuid.UUID) (*lcm.Operation, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := operationID(c)
		if err != nil {
			return err
		}
		if _, err := event(c.Request().Context(), id); err != nil {
			return err
		}
		return underWay(c, id)
	}
}

// underWay answers that an operation is under way, which Location names. The existing client takes the request for accepted only if the
// answer is empty.
func underWay(c echo.Context, operation uuid.UUID) error {
	c.Set(operationKey, operation)
	c.Response().Header().Set(echo.HeaderLocation, opOccsPath+operation.String())
	return c.NoContent(http.StatusAccepted)
}
