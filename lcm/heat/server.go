package heat

import (
	"cmp"
	"context"
	"net/http"

	"vnfm/lcm"
)

// serverStates are Nova's states of servers that are as an operator left them; all others are on the way to one, or broken.
var serverStates = map[string]lcm.VnfState{"ACTIVE": lcm.Started, "SHUTOFF": lcm.Stopped}

// Power implements [lcm.InfraDriver]. A server on its way is left alone.
func (d *Driver) Power(ctx context.Context, deployment *lcm.Deployment, serverID string, to lcm.VnfState) (bool, error) {
	var answer struct {
		Server struct {
			Status    string  `json:"status"`
			TaskState *string `json:"OS-EXT-STS:task_state"`
			Fault     struct {
				Message string `json:"message"`
			} `json:"fault"`
		} `json:"server"`
	}
	err := d.do(ctx, deployment.Vim, novaService, call{
		method: http.MethodGet, path: []string{"servers", serverID}, ok: []int{http.StatusOK},
	}, &answer)
	if err != nil {
		return false, err
	}
	server := answer.Server
	switch state := serverStates[server.Status]; {
	case server.Status == "ERROR":
		return false, &lcm.Failure{Title: "Server is broken", Status: http.StatusConflict,
			Detail: "server " + serverID + " is in state ERROR: " + cmp.Or(lcm.Legible(server.Fault.Message), "Nova gives no reason")}
	case server.TaskState != nil:
		return false, nil
	case state == to:
		return true, nil
	case state == "":
		return false, &lcm.Failure{Title: "Server is not in operation", Status: http.StatusConflict,
			Detail: "server " + serverID + " is in state " + server.Status + ", from which it is neither started nor stopped"}
	}
	action := "os-start"
	if to == lcm.Stopped {
		action = "os-stop"
	}
	err = d.do(ctx, deployment.Vim, novaService, call{
		method: http.MethodPost, path: []string{"servers", serverID, "action"}, body: map[string]any{action: nil},
		ok: []int{http.StatusAccepted},
	}, nil)
	if refusedWith(err, http.StatusConflict) { // somebody else does something with it: look again
		return false, nil
	}
	return false, err
}
