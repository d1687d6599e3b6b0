package hot

import "fmt"

// serverGroups makes a group for each placement rule that Nova can keep. The rules of wider scopes are for the grant.
func (t *translation) serverGroups() {
	for _, rule := range t.Flavour.PlacementRules {
		if rule.Scope != "nfvi_node" {
			t.note(rule.Name, fmt.Sprintf("its scope %q is left to the grant", rule.Scope))
			continue
		}
		name := rule.Name
		if rule.Group != "" {
			name += "_" + rule.Group
		}
		kind := "affinity"
		if rule.Anti {
			kind = "anti-affinity"
		}
		members := 0
		for _, member := range rule.Members {
			if _, ok := t.Flavour.Vdu(member); !ok {
				t.note(rule.Name, fmt.Sprintf("%s is no VDU: only servers are placed by nodes", member))
				continue
			}
			if other, twice := t.groupOf[member]; twice {
				t.refuse(member, "it is in several placement rules of scope nfvi_node (%s, %s): a server is in one group only", other, name)
			}
			t.groupOf[member] = name
			members++
		}
		if members > 0 {
			t.define(t.top, name, resource("OS::Nova::ServerGroup", nil, object{{"policies", []any{kind}}}))
		}
	}
}
