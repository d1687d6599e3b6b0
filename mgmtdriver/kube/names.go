package kube

import (
	"fmt"
	"net/netip"
)

// The roles of nodes, which are the first parts of their names.
const (
	Master = "master"
	Worker = "worker"
)

// Names are those that a node may be given, the one that people expect first, such as worker59. Two nodes of a large network may end in the same
// number; the later one then gets a longer name.
func Names(role string, ip netip.Addr) []string {
	if !ip.Is4() {
		b := ip.As16()
		return []string{fmt.Sprintf("%s-%x", role, b[14:]), fmt.Sprintf("%s-%x", role, b[8:])}
	}
	b := ip.As4()
	return []string{fmt.Sprintf("%s%d", role, b[3]), fmt.Sprintf("%s%d-%d", role, b[2], b[3]),
		fmt.Sprintf("%s%d-%d-%d-%d", role, b[0], b[1], b[2], b[3])}
}

// FreeName is the first of [Names] that is not taken yet, and takes it; "" if there is none.
func FreeName(role string, ip netip.Addr, taken map[string]bool) string {
	for _, name := range Names(role, ip) {
		if !taken[name] {
			taken[name] = true
			return name
		}
	}
	return ""
}
