package lcm

import (
	"maps"
	"slices"
)

// Existing is a VNF that has resources, and what an operation does with it. Drivers carry on what they have computed for it before.
type Existing struct {
	Instance   *VnfInstance   // as it was before the operation
	Deployment *Deployment    // likewise
	Scale      []ScaleRequest // what the operation scales, one after the other; each with its number of steps
	Heal       *HealRequest   // what the operation heals; nil: nothing
}

func existing(run *Run) *Existing {
	return &Existing{Instance: run.Instance, Deployment: run.Deployment}
}

// stepsBetween are the scalings that lead from some scale levels to others.
func stepsBetween(from, to map[string]int) []ScaleRequest {
	var requests []ScaleRequest
	for _, aspect := range slices.Sorted(maps.Keys(to)) {
		switch difference := to[aspect] - from[aspect]; {
		case difference > 0:
			requests = append(requests, ScaleRequest{Type: ScaleOut, AspectID: aspect, NumberOfSteps: steps(difference)})
		case difference < 0:
			requests = append(requests, ScaleRequest{Type: ScaleIn, AspectID: aspect, NumberOfSteps: steps(-difference)})
		}
	}
	return requests
}
