package kubespray_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"vnfm/mgmtdriver"
)

// instantiate boots all machines.
func (b *bed) instantiate() {
	b.begin("INSTANTIATE", "{}")
	b.before, b.added = nil, b.vnfcs
	for i := range b.vnfcs {
		b.boot(&b.vnfcs[i])
	}
}

// scaleOut boots further workers.
func (b *bed) scaleOut(lasts ...string) {
	b.begin("SCALE", `{"type": "SCALE_OUT", "aspectId": "worker_instance"}`)
	for _, last := range lasts {
		vnfc := b.vnfc("workerNode", last)
		b.boot(&vnfc)
		b.added, b.vnfcs = append(b.added, vnfc), append(b.vnfcs, vnfc)
	}
	b.after = slices.Clone(b.vnfcs)
}

// scaleIn is before machines go.
func (b *bed) scaleIn(lasts ...string) {
	b.begin("SCALE", `{"type": "SCALE_IN", "aspectId": "worker_instance"}`)
	b.leave(lasts)
}

// heal is before machines are replaced; all of them, if none is named.
func (b *bed) heal(lasts ...string) {
	ids := make([]string, len(lasts))
	for i, last := range lasts {
		ids[i] = "vnfc-" + last
	}
	request, _ := json.Marshal(map[string]any{"vnfcInstanceId": ids})
	if len(lasts) == 0 {
		request = []byte(`{}`)
		for i := range b.vnfcs {
			lasts = append(lasts, lastOf(&b.vnfcs[i]))
		}
	}
	b.begin("HEAL", string(request))
	b.leave(lasts)
}

func (b *bed) leave(lasts []string) {
	b.after, b.removed = nil, nil
	for _, vnfc := range b.vnfcs {
		if slices.Contains(lasts, lastOf(&vnfc)) {
			b.removed = append(b.removed, vnfc)
		} else {
			b.after = append(b.after, vnfc)
		}
	}
}

// gone ends a scale-in: the machines go.
func (b *bed) gone() {
	for i := range b.removed {
		b.kill(lastOf(&b.removed[i]))
	}
	b.vnfcs = slices.Clone(b.after)
}

// replaced is after machines were replaced in a heal.
func (b *bed) replaced() {
	b.added = nil
	for i := range b.vnfcs {
		vnfc := &b.vnfcs[i]
		if slices.ContainsFunc(b.removed, func(r mgmtdriver.Vnfc) bool { return r.ID == vnfc.ID }) {
			b.servers++
			vnfc.ServerID = fmt.Sprintf("server-%d", b.servers)
			b.boot(vnfc)
			b.added = append(b.added, *vnfc)
		}
	}
	b.after = slices.Clone(b.vnfcs)
}

// terminate is after all machines are gone.
func (b *bed) terminate(kind string) {
	b.begin("TERMINATE", `{"terminationType": "`+kind+`"}`)
	b.removed, b.after = b.vnfcs, nil
}
