package clustertest

import (
	"encoding/json"
	"fmt"
	"slices"

	"vnfm/mgmtdriver"
)

// Begin is a new operation.
func (b *Bed) Begin(kind, request string) {
	b.OpID++
	b.Operation, b.Request = kind, request
	b.Before, b.After, b.Removed, b.Added = slices.Clone(b.Vnfcs), slices.Clone(b.Vnfcs), nil, nil
}

// Instantiate boots all machines.
func (b *Bed) Instantiate() {
	b.Begin("INSTANTIATE", "{}")
	b.Before, b.Added = nil, b.Vnfcs
	for i := range b.Vnfcs {
		b.boot(&b.Vnfcs[i])
	}
}

func (b *Bed) boot(vnfc *mgmtdriver.Vnfc) { b.Start(lastOf(vnfc), b.Machine(lastOf(vnfc))) }

// ScaleOut boots further workers.
func (b *Bed) ScaleOut(lasts ...string) {
	b.Begin("SCALE", `{"type": "SCALE_OUT", "aspectId": "worker_instance"}`)
	for _, last := range lasts {
		vnfc := b.Vnfc("workerNode", last)
		b.boot(&vnfc)
		b.Added, b.Vnfcs = append(b.Added, vnfc), append(b.Vnfcs, vnfc)
	}
	b.After = slices.Clone(b.Vnfcs)
}

// ScaleIn is before machines go.
func (b *Bed) ScaleIn(lasts ...string) {
	b.Begin("SCALE", `{"type": "SCALE_IN", "aspectId": "worker_instance"}`)
	b.Leave(lasts...)
}

// Heal is before machines are replaced; all of them, if none is named.
func (b *Bed) Heal(lasts ...string) {
	ids := make([]string, len(lasts))
	for i, last := range lasts {
		ids[i] = "vnfc-" + last
	}
	request, _ := json.Marshal(map[string]any{"vnfcInstanceId": ids})
	if len(lasts) == 0 {
		request = []byte(`{}`)
		for i := range b.Vnfcs {
			lasts = append(lasts, lastOf(&b.Vnfcs[i]))
		}
	}
	b.Begin("HEAL", string(request))
	b.Leave(lasts...)
}

// Leave tells of machines that they are to go.
func (b *Bed) Leave(lasts ...string) {
	b.After, b.Removed = nil, nil
	for _, vnfc := range b.Vnfcs {
		if slices.Contains(lasts, lastOf(&vnfc)) {
			b.Removed = append(b.Removed, vnfc)
		} else {
			b.After = append(b.After, vnfc)
		}
	}
}

// Gone ends a scale-in: the machines go.
func (b *Bed) Gone() {
	for i := range b.Removed {
		b.Kill(lastOf(&b.Removed[i]))
	}
	b.Vnfcs = slices.Clone(b.After)
}

// Replaced is after machines were replaced in a heal.
func (b *Bed) Replaced() {
	b.Added = nil
	for i := range b.Vnfcs {
		vnfc := &b.Vnfcs[i]
		if slices.ContainsFunc(b.Removed, func(r mgmtdriver.Vnfc) bool { return r.ID == vnfc.ID }) {
			b.Servers++
			vnfc.ServerID = fmt.Sprintf("server-%d", b.Servers)
			if b.Replace != nil {
				b.Replace(vnfc)
			}
			b.boot(vnfc)
			b.Added = append(b.Added, *vnfc)
		}
	}
	b.After = slices.Clone(b.Vnfcs)
}

// Healed is after a heal that went well, of all machines if none is named.
func (b *Bed) Healed(lasts ...string) {
	b.T.Helper()
	b.Heal(lasts...)
	b.Must(mgmtdriver.HealStart)
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
}

// Terminate is after all machines are gone; kind is the terminationType.
func (b *Bed) Terminate(kind string) {
	b.Begin("TERMINATE", `{"terminationType": "`+kind+`"}`)
	b.Removed, b.After = b.Vnfcs, nil
}
