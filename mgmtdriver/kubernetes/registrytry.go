package kubernetes

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// url is where a registry answers.
func (r *registry) url() string {
	if r.insecure {
		return "http://" + r.server
	}
	return "https://" + r.server
}

// checkCertificates refuses certificates of registries that are none.
func checkCertificates(ctx context.Context, call *mgmtdriver.Call, p *params) error {
	for i, r := range p.registries {
		if r.certificatePath == "" {
			continue
		}
		content, err := mgmtdriver.ReadFile(ctx, call.Package, r.certificatePath)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(content)
		if block != nil {
			_, err = x509.ParseCertificate(block.Bytes)
		}
		if block == nil || err != nil {
			return &mgmtdriver.Invalid{Attribute: fmt.Sprintf("%s/private_registry_connection_info/%d/certificate_path", pointer, i),
				Detail: fmt.Sprintf("The certificate_path(path:%s) in the additionalParams is invalid: it is no certificate in PEM form.", r.certificatePath)}
		}
	}
	return nil
}

const (
	tryTime = 30 * time.Second
	noCurl  = 127

	curlScript = `command -v curl >/dev/null || exit 127; exec curl -q --config -`
)

// answered is what a registry has said.
type answered struct {
	status    string // of HTTP
	challenge string // how it wants one to log in
}

// tryRegistry asks a registry from a node for its version, as the node's runtime will before it pulls: with the authority, the login and
// the proxy that the runtime has been told of. A node without curl is believed.
func (s *site) tryRegistry(ctx context.Context, host *ssh.Host, r *registry, certs string) error {
	said, err := s.ask(ctx, host, r, r.url()+"/v2/", certs)
	if said == nil || err != nil {
		return err
	}
	denied := said.status == "401" || said.status == "403"
	if denied && r.username != "" && strings.HasPrefix(strings.ToLower(said.challenge), "bearer ") {
		return s.tryToken(ctx, host, r, said.challenge, certs)
	}
	switch {
	case said.status == "200", denied && r.username == "": // pods may bring a login of their own
		return nil
	case denied:
		return refusedLogin(host, r)
	}
	return unusable(host, r, "it answers to GET /v2/ with status "+said.status+", which a registry does not")
}

var challenged = regexp.MustCompile(`(realm|service)="([^"]*)"`)

// tryToken logs in where a registry says that one gets a token. Whether that can be reached at all is another matter than the login.
func (s *site) tryToken(ctx context.Context, host *ssh.Host, r *registry, challenge, certs string) error {
	found := map[string]string{}
	for _, parts := range challenged.FindAllStringSubmatch(challenge, -1) {
		found[parts[1]] = parts[2]
	}
	realm, err := url.Parse(found["realm"])
	if err != nil || realm.Host == "" || (realm.Scheme != "https" && (realm.Scheme != "http" || !r.insecure)) {
		s.Call.Log.Warn("the login at a registry cannot be tried", "host", host.String(), "registry", r.server, "realm", found["realm"])
		return nil //nolint:nilerr // a registry that sends one nowhere may still let images be pulled
	}
	query := realm.Query()
	query.Set("service", found["service"])
	query.Set("account", r.username)
	realm.RawQuery = query.Encode()
	said, err := s.ask(ctx, host, r, realm.String(), certs)
	switch {
	case errors.As(err, new(*mgmtdriver.Failure)):
		s.Call.Log.Warn("the login at a registry cannot be tried", "host", host.String(), "registry", r.server, "error", err)
		return nil
	case err != nil || said == nil:
		return err
	case said.status == "401" || said.status == "403":
		return refusedLogin(host, r)
	}
	return nil
}

func refusedLogin(host *ssh.Host, r *registry) error {
	return &mgmtdriver.Failure{Title: "Registry cannot be used", Status: http.StatusBadGateway, Detail: fmt.Sprintf(
		"Failed to login Docker private registry. ErrInfo:[%s: %s refuses the login of %s]", host, r.url(), r.username)}
}

func unusable(host *ssh.Host, r *registry, why string) error {
	return &mgmtdriver.Failure{Title: "Registry cannot be used", Status: http.StatusBadGateway, Detail: fmt.Sprintf(
		"%s: the private registry %s cannot be used: %s", host, r.url(), why)}
}

// curlText writes what is in quotes in a configuration of curl.
var curlText = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

var challenge = regexp.MustCompile(`(?im)^www-authenticate:[ \t]*(\S.*?)\s*$`)

// ask has a node ask something over HTTP; nil if it has no curl. The login goes through the standard input, where nobody on the node sees it.
func (s *site) ask(ctx context.Context, host *ssh.Host, r *registry, address, certs string) (*answered, error) {
	options := [][2]string{{"url", address}, {"max-time", "25"}, {"output", "/dev/null"}, {"dump-header", "-"}}
	if r.certificatePath != "" && !r.insecure {
		options = append(options, [2]string{"cacert", certs + r.server + "/ca.crt"})
	}
	if r.username != "" {
		options = append(options, [2]string{"user", r.username + ":" + string(r.password)})
	}
	through, err := s.proxyOf(address)
	if err != nil {
		return nil, err
	}
	if through == "" {
		options = append(options, [2]string{"noproxy", "*"})
	} else {
		options = append(options, [2]string{"proxy", through})
	}
	config := "silent\nshow-error\nwrite-out = \"\\nstatus %{http_code}\"\n"
	for _, option := range options {
		config += option[0] + ` = "` + curlText.Replace(option[1]) + "\"\n"
	}
	command := ssh.Shell(curlScript)
	command.Stdin, command.Time, command.Limit, command.Quiet = strings.NewReader(config), tryTime, 64<<10, true
	command.Root = true // certificates are where not everybody may look
	output, err := host.Run(ctx, command)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit) && exit.Status == noCurl:
		s.Call.Log.Warn("there is no curl to try a registry with", "host", host.String(), "registry", r.server)
		return nil, nil
	case errors.As(err, &exit):
		why, _, _ := strings.Cut(exit.Stderr, "\n")
		return nil, unusable(host, r, why)
	case err != nil:
		return nil, err
	}
	said := &answered{status: output.Stdout[strings.LastIndexByte(output.Stdout, ' ')+1:]}
	if found := challenge.FindAllStringSubmatch(output.Stdout, -1); found != nil {
		said.challenge = found[len(found)-1][1]
	}
	return said, nil
}

// proxyOf is the proxy through which nodes reach an address, "" if they need none: as the runtimes, which are programs in Go, find out.
func (s *site) proxyOf(address string) (string, error) {
	env := s.proxyEnv()
	proxies := httpproxy.Config{HTTPProxy: env["http_proxy"], HTTPSProxy: env["https_proxy"], NoProxy: env["no_proxy"]}
	to, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	through, err := proxies.ProxyFunc()(to)
	if err != nil || through == nil {
		return "", err
	}
	return through.String(), nil
}
