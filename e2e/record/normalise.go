package main

import (
	"fmt"
	"regexp"
	"strings"
)

// normaliser replaces what differs from run to run by something of the same shape.
type normaliser struct {
	seen  map[string]string
	count map[string]int
}

func newNormaliser() *normaliser {
	return &normaliser{seen: map[string]string{}, count: map[string]int{}}
}

// shapes are looked for in this order; each gives the replacement of the n-th different match.
var shapes = []struct {
	name    string
	pattern *regexp.Regexp
	number  func(n int) string
}{
	{"token", regexp.MustCompile(`gAAAAA[A-Za-z0-9_-]{50,}`), func(n int) string { return fmt.Sprintf("TOKEN-%d", n) }},
	{"uuid", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
		func(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }},
	{"host", regexp.MustCompile(`\b[0-9a-f]{56}\b`), func(n int) string { return fmt.Sprintf("%056x", n) }},
	{"id", regexp.MustCompile(`\b[0-9a-f]{32}\b`), func(n int) string { return fmt.Sprintf("%032x", n) }},
	// What Heat adds to user data is long and nobody's business.
	{"user data", regexp.MustCompile(`("OS-EXT-SRV-ATTR:user_data": ")[A-Za-z0-9+/=]+`), nil},
	{"audit", regexp.MustCompile(`("audit_ids": \[\s*")[A-Za-z0-9_-]{22}`), nil},
	{"mac", regexp.MustCompile(`\bfa:16:3e(?::[0-9a-f]{2}){3}`),
		func(n int) string { return fmt.Sprintf("fa:16:3e:00:%02x:%02x", n>>8, n&0xff) }},
	{"reservation", regexp.MustCompile(`\br-[a-z0-9]{8}\b`), func(n int) string { return fmt.Sprintf("r-%08d", n) }},
}

// Heat appends twelve characters to names and calls the members of a group so. They are recognised inside a name that Heat has made, as
// the name of a resource, and as a member in the reason of a failure, and replaced everywhere after that. No name of ours has that form.
var (
	generated   = regexp.MustCompile(`-([a-z2-7]{12})(?:-|"|/)`)
	groupMember = regexp.MustCompile(`(?:resources\.[a-z_]+\.resources\.|"resource_name": ")([a-z2-7]{12})\b`)
	stackName   = regexp.MustCompile(`(?:"|/stacks/)rec-[a-z0-9_-]+["/]`)
	digits      = regexp.MustCompile(`[0-9]`)
	times       = regexp.MustCompile(`\b20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](?:\.[0-9]+)?`)
)

func (n *normaliser) replace(text string) string {
	for _, shape := range shapes {
		if shape.number == nil {
			text = shape.pattern.ReplaceAllString(text, "${1}AAAAAAAAAAAAAAAAAAAAAAAA")
			continue
		}
		text = shape.pattern.ReplaceAllStringFunc(text, func(s string) string { return n.of(shape.name, s, shape.number) })
	}
	for _, name := range stackName.FindAllString(text, -1) {
		// The separator belongs to two matches at once, so the search goes on from it.
		for rest := name; ; {
			m := generated.FindStringSubmatchIndex(rest)
			if m == nil {
				break
			}
			n.of("generated", rest[m[2]:m[3]], generatedName)
			rest = rest[m[3]:]
		}
	}
	for _, m := range groupMember.FindAllStringSubmatch(text, -1) {
		n.of("generated", m[1], generatedName)
	}
	for original, replacement := range n.seen {
		if len(original) == 12 && strings.HasPrefix(replacement, "gen") {
			text = strings.ReplaceAll(text, original, replacement)
		}
	}
	return times.ReplaceAllStringFunc(text, func(s string) string {
		return "2026-01-02T03:04:05" + digits.ReplaceAllString(s[len("2026-01-02T03:04:05"):], "0")
	})
}

// of gives the replacement of something of a kind, the same for the same original.
func (n *normaliser) of(kind, original string, numbered func(int) string) string {
	if replacement, ok := n.seen[original]; ok {
		return replacement
	}
	n.count[kind]++
	n.seen[original] = numbered(n.count[kind])
	return n.seen[original]
}

// generatedName is twelve letters that end in the number, written with the letters a to z.
func generatedName(n int) string {
	var tail [9]byte
	for i := range tail {
		tail[len(tail)-1-i] = byte('a' + n%26)
		n /= 26
	}
	return "gen" + string(tail[:])
}
