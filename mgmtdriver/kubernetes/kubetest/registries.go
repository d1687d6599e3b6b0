package kubetest

import (
	"fmt"
	"io"
	"strings"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// Asked is what a machine asks a registry.
type Asked struct {
	URL, User, Proxy, Authority string // the last is a certificate
}

// Answer is what the registry answers.
type Answer struct {
	Status    int
	Challenge string // WWW-Authenticate
	Error     string // of curl, in place of an answer; or [NoCurl]
}

// NoCurl is the error of a machine that has no curl.
const NoCurl = "no curl"

// curlScript asks a registry.
const curlScript = "command -v curl >/dev/null || exit 127; exec curl -q --config -"

// curl plays a request to a registry that is written in a configuration on the standard input. The lock is held.
func (m *machine) curl(s *sshtest.Session) int {
	config, err := io.ReadAll(s.Stdin)
	if err != nil {
		return 26
	}
	options := map[string]string{}
	for line := range strings.Lines(string(config)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ` = "`)
		options[name] = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(value, `"`))
	}
	asked := Asked{URL: options["url"], User: options["user"], Proxy: options["proxy"]}
	if path := options["cacert"]; path != "" {
		if asked.Authority = m.read(path); asked.Authority == "" {
			m.world.surprise("%s: there is no %s", m.addresses[0], path)
		}
	}
	answer := Answer{Status: 200}
	if m.world.options.Registry != nil {
		answer = m.world.options.Registry(asked)
	}
	if answer.Error != "" {
		_, _ = fmt.Fprintln(s.Stderr, answer.Error)
		return map[bool]int{true: 127, false: 7}[answer.Error == NoCurl]
	}
	header := ""
	if answer.Challenge != "" {
		header = "WWW-Authenticate: " + answer.Challenge + "\r\n"
	}
	_, _ = fmt.Fprintf(s.Stdout, "HTTP/1.1 %d\r\n%s\r\n\nstatus %d", answer.Status, header, answer.Status)
	return 0
}
