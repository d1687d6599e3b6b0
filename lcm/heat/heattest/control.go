package heattest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// ControlPath is where the control endpoint is. It needs no token: whoever reaches the simulator may steer it.
//
//	POST   /sim/faults           {"method": "GET", "path": "/stacks", "times": 1, "status": 503, "hang": false, "loseReply": false, "delay": "2s"}
//	DELETE /sim/faults           ends every fault
//	POST   /sim/resource-faults  {"type": "OS::Nova::Server", "name": "", "stack": "", "action": "CREATE", "times": 1, "reason": ""}
//	PUT    /sim/delays           {"": {"create": "1s"}, "OS::Nova::Server": {"create": "10s", "update": "2s", "delete": "1s"}}
//	PUT    /sim/quota            {"instances": 2}
//	PUT    /sim/down             {"service": "orchestration", "down": true}
//	POST   /sim/tokens/revoke
//	DELETE /sim/servers/{id}     behind its stack's back
//	GET    /sim/calls            {"POST /orchestration/v1/{project}/stacks": 1}; DELETE starts from zero
//	GET    /sim/inventory        a list of Item; ?leaks=true leaves out what was there at the beginning
const ControlPath = "/sim/"

func (c *Cloud) controlRoutes() {
	control(c, "POST", "faults", func(_ *http.Request, in struct {
		Method, Path string
		Times        int
		Status       int
		Hang         bool
		LoseReply    bool
		Delay        string
	}) (any, error) {
		delay, err := time.ParseDuration(cmp.Or(in.Delay, "0s"))
		if err != nil {
			return nil, err
		}
		return nil, c.Inject(Fault{in.Method, in.Path, in.Times, in.Status, in.Hang, in.LoseReply, delay})
	})
	control(c, "DELETE", "faults", func(*http.Request, none) (any, error) { c.ClearFaults(); return nil, nil })
	control(c, "POST", "resource-faults", func(_ *http.Request, in ResourceFault) (any, error) { c.FailResource(in); return nil, nil })
	control(c, "PUT", "delays", func(_ *http.Request, in map[string]map[string]string) (any, error) {
		delays, err := parseDelays(in)
		if err == nil {
			c.SetDelays(delays)
		}
		return nil, err
	})
	control(c, "PUT", "quota", func(_ *http.Request, in struct{ Instances int }) (any, error) {
		c.SetInstanceQuota(in.Instances)
		return nil, nil
	})
	control(c, "PUT", "down", func(_ *http.Request, in struct {
		Service string
		Down    bool
	}) (any, error) {
		c.SetDown(in.Service, in.Down)
		return nil, nil
	})
	control(c, "POST", "tokens/revoke", func(*http.Request, none) (any, error) { c.RevokeTokens(); return nil, nil })
	control(c, "DELETE", "servers/{id}", func(r *http.Request, _ none) (any, error) {
		if !c.DeleteServer(r.PathValue("id")) {
			return nil, fmt.Errorf("there is no server %s", r.PathValue("id"))
		}
		return nil, nil
	})
	control(c, "GET", "calls", func(*http.Request, none) (any, error) { return c.Calls(), nil })
	control(c, "DELETE", "calls", func(*http.Request, none) (any, error) { c.ResetCalls(); return nil, nil })
	control(c, "GET", "inventory", func(r *http.Request, _ none) (any, error) {
		items := c.Inventory()
		if r.URL.Query().Get("leaks") == "true" {
			items = c.Leaks()
		}
		if items == nil {
			items = []Item{}
		}
		return items, nil
	})
}

// none is the input of calls without a body.
type none struct{}

// control registers one call of the control endpoint: input in, result or 400 out.
func control[In any](c *Cloud, method, path string, call func(*http.Request, In) (any, error)) {
	c.mux.HandleFunc(method+" "+ControlPath+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		var err error
		if _, bodyless := any(in).(none); !bodyless {
			decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
			decoder.DisallowUnknownFields()
			err = decoder.Decode(&in)
		}
		var out any
		if err == nil {
			out, err = call(r, in)
		}
		switch {
		case err != nil:
			c.write(w, r, &reply{status: http.StatusBadRequest, body: object{"error": err.Error()}})
		case out == nil:
			c.write(w, r, &reply{status: http.StatusNoContent})
		default:
			c.write(w, r, &reply{status: http.StatusOK, body: out})
		}
	})
}

func parseDelays(in map[string]map[string]string) (Delays, error) {
	out := Delays{}
	for typ, actions := range in {
		var d Delay
		for action, value := range actions {
			length, err := time.ParseDuration(value)
			if err != nil || length < 0 {
				return nil, fmt.Errorf("delay of %q: %q is not a duration such as 500ms or 10s", typ, value)
			}
			switch action {
			case "create":
				d.Create = length
			case "update":
				d.Update = length
			case "delete":
				d.Delete = length
			default:
				return nil, fmt.Errorf("delay of %q: there is no action %q, only create, update and delete", typ, action)
			}
		}
		out[typ] = d
	}
	return out, nil
}
