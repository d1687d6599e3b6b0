package peer

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Access are the command-line options that say how to log in at a peer which the operator names. Secrets are in files: others can read
// the arguments of a process.
type Access struct {
	Username         string `env:"USERNAME" placeholder:"NAME" help:"User at the peer, for HTTP Basic. Default: none."`
	PasswordFile     string `env:"PASSWORD_FILE" type:"path" placeholder:"FILE" help:"File with the password of the user at the peer. Default: none."`
	TokenURL         string `name:"token-url" env:"TOKEN_URL" placeholder:"URL" help:"OAuth2 token endpoint for the peer, for client credentials. Default: none."`
	ClientID         string `name:"client-id" env:"CLIENT_ID" placeholder:"ID" help:"OAuth2 client at the token endpoint. Default: none."`
	ClientSecretFile string `env:"CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" help:"File with the secret of the OAuth2 client. Default: none."`
	TLSFiles         `embed:""`
}

// Given names an option that is given, with the prefix such as "--grant-"; "" if none is.
func (a *Access) Given(prefix string) string {
	for _, option := range []struct{ name, value string }{
		{"username", a.Username}, {"password-file", a.PasswordFile}, {"token-url", a.TokenURL}, {"client-id", a.ClientID},
		{"client-secret-file", a.ClientSecretFile}, {"ca-file", a.CAFile}, {"cert-file", a.CertFile}, {"key-file", a.KeyFile},
	} {
		if option.value != "" {
			return prefix + option.name
		}
	}
	return ""
}

// Client returns the address, which the option prefix+"url" has given, a client towards it that follows no redirects, and the login.
// Errors are sentences with the name of the option.
func (a *Access) Client(prefix, address string, timeout time.Duration) (*url.URL, *http.Client, Login, error) {
	at, err := Endpoint(prefix+"url", address, a.Username != "" || a.TokenURL != "")
	if err != nil {
		return nil, nil, nil, err
	}
	security, err := a.Config(prefix)
	if err != nil {
		return nil, nil, nil, err
	}
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: security, TLSHandshakeTimeout: timeout,
			MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: NoRedirect,
	}
	login, err := a.login(prefix, client)
	return at, client, login, err
}

// Endpoint checks an address, which an option names. Credentials are not sent in clear but to this machine.
func Endpoint(option, address string, credentials bool) (*url.URL, error) {
	parsed, err := Address(address)
	if err != nil {
		return nil, fmt.Errorf("%s %w", option, err)
	}
	host := parsed.Hostname()
	ip := net.ParseIP(host)
	if local := host == "localhost" || ip != nil && ip.IsLoopback(); credentials && parsed.Scheme == "http" && !local {
		return nil, fmt.Errorf("%s must be an https URL: credentials would be sent in clear", option)
	}
	return parsed, nil
}

func (a *Access) login(prefix string, client *http.Client) (Login, error) {
	hasBasic, hasOAuth2 := a.Username != "" || a.PasswordFile != "", a.TokenURL != "" || a.ClientID != "" || a.ClientSecretFile != ""
	switch {
	case hasBasic && hasOAuth2:
		return nil, fmt.Errorf("%[1]susername and %[1]stoken-url exclude each other", prefix)
	case hasBasic:
		if a.Username == "" || a.PasswordFile == "" || strings.Contains(a.Username, ":") {
			return nil, fmt.Errorf("%[1]susername and %[1]spassword-file go together, and the name has no colon", prefix)
		}
		password, err := Secret(prefix+"password-file", a.PasswordFile)
		return Basic(a.Username, password), err
	case hasOAuth2:
		if a.TokenURL == "" || a.ClientID == "" || a.ClientSecretFile == "" {
			return nil, fmt.Errorf("%[1]stoken-url, %[1]sclient-id and %[1]sclient-secret-file go together", prefix)
		}
		if _, err := Endpoint(prefix+"token-url", a.TokenURL, true); err != nil {
			return nil, err
		}
		secret, err := Secret(prefix+"client-secret-file", a.ClientSecretFile)
		return OAuth2(ClientCredentials{TokenURL: a.TokenURL, ClientID: a.ClientID, ClientSecret: secret}, client), err
	default:
		return Anonymous, nil
	}
}

// Secret reads a file with one secret; a line break at its end does not belong to it.
func Secret(option, path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own choice
	if err != nil {
		return "", fmt.Errorf("%s: %w", option, err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", errors.New(option + ": " + path + " is empty")
	}
	return text, nil
}
