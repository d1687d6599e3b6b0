package grant

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// Options are the command-line options that say where the NFVO is. Secrets are in files: others can read the arguments of a process.
type Options struct {
	URL              string `env:"VNFM_GRANT_URL" placeholder:"URL" help:"NFVO that grants operations: the complete address of its grants, such as https://nfvo/grant/v1/grants. Default: none, operations need no grant."`
	Username         string `env:"VNFM_GRANT_USERNAME" placeholder:"NAME" help:"User at the NFVO, for HTTP Basic. Default: none."`
	PasswordFile     string `env:"VNFM_GRANT_PASSWORD_FILE" type:"path" placeholder:"FILE" help:"File with the password of the user at the NFVO. Default: none."`
	TokenURL         string `name:"token-url" env:"VNFM_GRANT_TOKEN_URL" placeholder:"URL" help:"OAuth2 token endpoint for the NFVO, for client credentials. Default: none."`
	ClientID         string `name:"client-id" env:"VNFM_GRANT_CLIENT_ID" placeholder:"ID" help:"OAuth2 client at the token endpoint. Default: none."`
	ClientSecretFile string `env:"VNFM_GRANT_CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" help:"File with the secret of the OAuth2 client. Default: none."`
	peer.TLSFiles    `embed:"" envprefix:"VNFM_GRANT_"`
	Timeout          time.Duration `default:"20s" env:"VNFM_GRANT_TIMEOUT" help:"Time in which the NFVO has to answer one call. Default: 20s."`
}

// Source returns a [Client] of the NFVO that the options name, nil if they name none. Errors are sentences with the name of the option.
func (o *Options) Source() (lcm.GrantSource, error) {
	if o.URL == "" {
		if alone := o.withoutURL(); alone != "" {
			return nil, fmt.Errorf("%s goes with --grant-url (VNFM_GRANT_URL) only", alone)
		}
		return nil, nil
	}
	grants, err := endpoint("--grant-url", o.URL, o.Username != "" || o.TokenURL != "")
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 || o.Timeout > 45*time.Second {
		return nil, fmt.Errorf("--grant-timeout: %s is not more than 0 and at most 45s, within which a step of an operation has to end", o.Timeout)
	}
	security, err := o.Config("--grant-")
	if err != nil {
		return nil, err
	}
	client := &Client{grants: grants, timeout: o.Timeout, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: security, TLSHandshakeTimeout: o.Timeout,
			MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: peer.NoRedirect, // what an NFVO grants is at its own address
	}}
	if client.login, err = o.login(client.http); err != nil {
		return nil, err
	}
	return client, nil
}

// withoutURL names an option that is given although there is no NFVO.
func (o *Options) withoutURL() string {
	for _, option := range []struct{ name, value string }{
		{"--grant-username", o.Username}, {"--grant-password-file", o.PasswordFile}, {"--grant-token-url", o.TokenURL},
		{"--grant-client-id", o.ClientID}, {"--grant-client-secret-file", o.ClientSecretFile}, {"--grant-ca-file", o.CAFile},
		{"--grant-cert-file", o.CertFile}, {"--grant-key-file", o.KeyFile},
	} {
		if option.value != "" {
			return option.name
		}
	}
	return ""
}

// endpoint checks an address. Credentials are not sent in clear but to this machine.
func endpoint(option, address string, credentials bool) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.User != nil || parsed.Fragment != "" {
		return nil, fmt.Errorf("%s must be an http or https URL without user information", option)
	}
	host := parsed.Hostname()
	ip := net.ParseIP(host)
	if local := host == "localhost" || ip != nil && ip.IsLoopback(); credentials && parsed.Scheme == "http" && !local {
		return nil, fmt.Errorf("%s must be an https URL: credentials would be sent in clear", option)
	}
	return parsed, nil
}

func (o *Options) login(client *http.Client) (peer.Login, error) {
	hasBasic, hasOAuth2 := o.Username != "" || o.PasswordFile != "", o.TokenURL != "" || o.ClientID != "" || o.ClientSecretFile != ""
	switch {
	case hasBasic && hasOAuth2:
		return nil, errors.New("--grant-username and --grant-token-url exclude each other")
	case hasBasic:
		if o.Username == "" || o.PasswordFile == "" || strings.Contains(o.Username, ":") {
			return nil, errors.New("--grant-username and --grant-password-file go together, and the name has no colon")
		}
		password, err := secret("--grant-password-file", o.PasswordFile)
		return peer.Basic(o.Username, password), err
	case hasOAuth2:
		if o.TokenURL == "" || o.ClientID == "" || o.ClientSecretFile == "" {
			return nil, errors.New("--grant-token-url, --grant-client-id and --grant-client-secret-file go together")
		}
		if _, err := endpoint("--grant-token-url", o.TokenURL, true); err != nil {
			return nil, err
		}
		secret, err := secret("--grant-client-secret-file", o.ClientSecretFile)
		credentials := peer.ClientCredentials{TokenURL: o.TokenURL, ClientID: o.ClientID, ClientSecret: secret}
		return peer.OAuth2(credentials, client), err
	default:
		return peer.Anonymous, nil
	}
}

// secret reads a file with one secret; a line break at its end does not belong to it.
func secret(option, path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own choice
	if err != nil {
		return "", fmt.Errorf("%s: %w", option, err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", fmt.Errorf("%s: %s is empty", option, path)
	}
	return text, nil
}
