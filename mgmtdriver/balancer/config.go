package balancer

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
)

// NodePorts is the backend whose servers are all nodes of the cluster.
const NodePorts = "kubernetes-nodeport"

// defaultOptions are those of a server that has no other one beside it to be like: it is up while its kubelet answers. A server without a port has to
// be told which one to look at.
const defaultOptions = "check port 10250"

// keywords begin a section of a configuration.
var keywords = []string{"backend", "cache", "crt-store", "defaults", "fcgi-app", "frontend", "global", "http-errors", "listen", "log-forward",
	"log-profile", "mailers", "peers", "program", "resolvers", "ring", "traces", "userlist"}

// Config is a configuration of HAProxy. What nobody changes stays as it is, comments and white space included.
type Config struct{ sections []section }

// section is a part of a configuration with the line that begins it; the first one may have none.
type section struct {
	keyword, name string
	lines         []string // with their ends
}

// Server is a server of a backend.
type Server struct {
	Name    string
	Address netip.Addr
}

// Parse reads a configuration.
func Parse(text string) *Config {
	c := &Config{sections: []section{{}}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 0 && slices.Contains(keywords, words[0]) {
			begun := section{keyword: words[0]}
			if len(words) > 1 {
				begun.name = words[1]
			}
			c.sections = append(c.sections, begun)
		}
		last := &c.sections[len(c.sections)-1]
		last.lines = append(last.lines, line)
	}
	return c
}

// String is the configuration as HAProxy reads it.
func (c *Config) String() string {
	var text strings.Builder
	for _, s := range c.sections {
		for _, line := range s.lines {
			text.WriteString(line)
		}
	}
	return text.String()
}

// Servers are those of a backend whose address is an IP address.
func (c *Config) Servers(backend string) []Server {
	var found []Server
	if s := c.backend(backend); s != nil {
		for _, line := range s.lines {
			if l, ok := readServer(line); ok && l.address.IsValid() {
				found = append(found, Server{l.name, l.address})
			}
		}
	}
	return found
}

func (c *Config) backend(name string) *section {
	i := slices.IndexFunc(c.sections, func(s section) bool { return (s.keyword == "backend" || s.keyword == "listen") && s.name == name })
	if i < 0 {
		return nil
	}
	return &c.sections[i]
}

// serverLine is a line that makes a server.
type serverLine struct {
	indent, name string
	address      netip.Addr // invalid: a name
	options      string
}

func readServer(line string) (serverLine, bool) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "server" {
		return serverLine{}, false
	}
	indent, _, _ := strings.Cut(line, "server")
	found := serverLine{indent: indent, name: words[1], options: strings.Join(words[3:], " ")}
	if address, err := netip.ParseAddrPort(words[2]); err == nil {
		found.address = address.Addr()
	} else if address, err := netip.ParseAddr(words[2]); err == nil {
		found.address = address
	}
	return found, true
}

// SetServers makes servers those of a backend, without a port. The lines of those that it has already stay as they are; a new one gets the options
// of the first one that was there. *[mgmtdriver.Failure] if there is no such backend.
func (c *Config) SetServers(backend string, servers []Server) error {
	s := c.backend(backend)
	if s == nil {
		return &mgmtdriver.Failure{Title: "Load balancer has no such backend", Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("the configuration of HAProxy has no backend %s", backend)}
	}
	model := serverLine{indent: "    ", options: defaultOptions}
	known, place := map[netip.Addr]bool{}, -1
	var kept []string
	for _, line := range s.lines {
		l, isServer := readServer(line)
		if !isServer || !l.address.IsValid() {
			kept = append(kept, line)
			continue
		}
		if place < 0 {
			model, place = l, len(kept)
		}
		if slices.ContainsFunc(servers, func(wanted Server) bool { return wanted.Address == l.address }) && !known[l.address] {
			known[l.address] = true
			kept = append(kept, line)
			place = len(kept)
		}
	}
	if place < 0 { // after the last line that says something
		for place = len(kept); place > 1 && isRemark(kept[place-1]); place-- {
		}
		kept[place-1] = strings.TrimRight(kept[place-1], "\n") + "\n"
	}
	var added []string
	for _, wanted := range servers {
		if !known[wanted.Address] {
			known[wanted.Address] = true
			line := model.indent + "server " + wanted.Name + " " + wanted.Address.String() + " " + model.options
			added = append(added, strings.TrimRight(line, " ")+"\n")
		}
	}
	if place > 0 {
		kept[place-1] = strings.TrimRight(kept[place-1], "\n") + "\n"
	}
	s.lines = slices.Insert(kept, place, added...)
	return nil
}

func isRemark(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}
