package heattest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

// scalingPolicyKind is OS::Heat::ScalingPolicy.
func scalingPolicyKind() *kind {
	return &kind{
		properties: map[string]property{
			"auto_scaling_group_id": {typ: "string", required: true, replace: true}, "scaling_adjustment": {typ: "number", required: true},
			"adjustment_type":     {typ: "string", required: true, allowed: []string{"change_in_capacity", "exact_capacity", "percent_change_in_capacity"}},
			"cooldown":            {typ: "number"},
			"min_adjustment_step": {typ: "integer", bounded: true},
		},
		create: func(_ *Cloud, r *resource) error { r.physical = newHexID(); return nil },
		update: func(*Cloud, *resource, object, object) error { return nil },
		attributes: func(c *Cloud, r *resource) object {
			url := c.stackURL(nil, r.stack) + "/resources/" + r.name
			return object{"signal_url": url + "/signal", "alarm_url": strings.Replace(url, orchestrationPrefix, "/cfn", 1)}
		},
		signal: signalPolicy,
	}
}

// signalPolicy scales the group that the policy points to. As in Heat, nothing happens during the cooldown, while the group is busy, and at its limits.
func signalPolicy(c *Cloud, r *resource) error {
	var group *resource
	for _, other := range r.stack.resources {
		if ref := text(r.properties, "auto_scaling_group_id"); ref == other.physicalName || ref == other.physical {
			group = other
		}
	}
	if group == nil || group.nested == nil {
		return fmt.Errorf("Alarm %s could not find scaling group named %q", r.name, text(r.properties, "auto_scaling_group_id")) //nolint:staticcheck // Heat's words
	}
	if group.busy || group.nested.current != nil || time.Now().Before(r.cooldownUntil) {
		return nil
	}
	size := len(group.nested.settled())
	least, _ := group.properties["min_size"].(int)
	most, _ := group.properties["max_size"].(int)
	wanted := min(max(adjusted(r.properties, size), least), most)
	if wanted == size {
		return nil
	}
	cooldown, err := hotlang.Number(r.properties["cooldown"])
	if err != nil {
		cooldown = 0
	}
	seconds, _ := cooldown.(int)
	turn := group.begin(actionUpdate)
	group.action, group.status = actionCreate, statusComplete // a signal leaves no trace in the group's own state
	group.stack.events = group.stack.events[:len(group.stack.events)-1]
	group.nested.source = scaledSource(group, child(group.properties, "resource"), wanted)
	c.converge(group.nested, actionUpdate, func(*resourceError) {
		if group.turn != turn {
			return
		}
		group.busy = false
		r.cooldownUntil = time.Now().Add(time.Duration(seconds) * time.Second)
		group.wake()
	})
	return nil
}

func adjusted(p object, size int) int {
	n, err := hotlang.Number(p["scaling_adjustment"])
	if err != nil {
		return size
	}
	change, _ := n.(int)
	switch text(p, "adjustment_type") {
	case "exact_capacity":
		return change
	case "percent_change_in_capacity":
		delta := float64(size*change) / 100
		step, _ := p["min_adjustment_step"].(int)
		rounded := int(math.Trunc(delta))
		if rounded == 0 && change != 0 {
			rounded = int(math.Copysign(1, delta))
		}
		if step > 0 && rounded != 0 && max(rounded, -rounded) < step {
			rounded = int(math.Copysign(float64(step), delta))
		}
		return size + rounded
	}
	return size + change
}
