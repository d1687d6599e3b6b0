package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"vnfm/api"
)

func (s *Server) showNodeLogs(c echo.Context) error {
	id, err := operationID(c)
	if err != nil {
		return err
	}
	logs, err := s.config.Operations.NodeLogs(c.Request().Context(), id)
	if err != nil {
		return err
	}
	shown := make([]api.NodeLog, len(logs))
	for i, log := range logs {
		shown[i] = api.NodeLog{Node: log.Node, VnfcInstanceID: log.VnfcID, Job: log.Job, State: api.NodeLogState(log.State), Lines: log.Lines,
			ChangedTime: log.ChangedAt.UTC()}
	}
	return c.JSON(http.StatusOK, shown)
}
