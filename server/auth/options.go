package auth

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vnfm/api/peer"
)

// Options are the command-line options that say who may call.
type Options struct {
	Auth        string      `name:"auth" enum:"none,keystone,oidc,basic,tls" default:"none" env:"VNFM_AUTH" help:"How clients prove who they are: keystone (X-Auth-Token), oidc (OAuth2 access tokens), basic (user and password), tls (client certificates), or none, on loopback addresses only. Default: none."`
	PolicyFile  string      `name:"auth-policy-file" env:"VNFM_AUTH_POLICY_FILE" type:"path" placeholder:"FILE" help:"What roles may do, in YAML. Default: admin everything everywhere, member what is in the project, reader nothing but read; see docs/access.md."`
	UsersFile   string      `name:"auth-users-file" env:"VNFM_AUTH_USERS_FILE" type:"path" placeholder:"FILE" help:"Users for basic and tls: lines of NAME:HASH:PROJECT:ROLE,ROLE. vnfm hash-password makes the hash."`
	KeystoneURL string      `name:"auth-keystone-url" env:"VNFM_AUTH_KEYSTONE_URL" placeholder:"URL" help:"Keystone that clients have their tokens from."`
	KeystoneCA  string      `name:"auth-keystone-ca-file" env:"VNFM_AUTH_KEYSTONE_CA_FILE" type:"path" placeholder:"FILE" help:"Authorities (PEM) that Keystone's certificate must be from. Default: those of the system."`
	OIDC        OIDCOptions `embed:"" prefix:"auth-oidc-" envprefix:"VNFM_AUTH_OIDC_"`
}

// OIDCOptions are those of access tokens.
type OIDCOptions struct {
	Issuer           string `env:"ISSUER" placeholder:"URL" help:"Authorization server whose signed access tokens are accepted; its keys are found by OpenID Connect discovery."`
	Audience         string `env:"AUDIENCE" help:"Audience that access tokens must be for. Default: vnfm." default:"vnfm"`
	ProjectClaim     string `env:"PROJECT_CLAIM" default:"project" help:"Claim that holds the project. Default: project."`
	RolesClaim       string `env:"ROLES_CLAIM" default:"roles" help:"Claim that holds the roles; scope makes the scopes of tokens roles. Default: roles."`
	CAFile           string `name:"ca-file" env:"CA_FILE" type:"path" placeholder:"FILE" help:"Authorities (PEM) that the authorization server's certificate must be from. Default: those of the system."`
	IntrospectionURL string `name:"introspection-url" env:"INTROSPECTION_URL" placeholder:"URL" help:"Where the authorization server is asked about access tokens, in place of reading them."`
	ClientID         string `name:"client-id" env:"CLIENT_ID" help:"Client by which this server asks about access tokens."`
	ClientSecretFile string `name:"client-secret-file" env:"CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" help:"File with the secret of that client."`
}

// callTime is how long a client waits at the most until it is known who it is.
const callTime = 15 * time.Second

// On reports whether clients have to prove who they are.
func (o *Options) On() bool { return o.Auth != "none" && o.Auth != "" }

// Gate returns what lets requests in; nil if nobody is asked.
func (o *Options) Gate() (*Gate, error) {
	if !o.On() {
		return nil, nil
	}
	gate := &Gate{policy: DefaultPolicy()}
	var err error
	if o.PolicyFile != "" {
		if gate.policy, err = ReadPolicy(o.PolicyFile); err != nil {
			return nil, fmt.Errorf("--auth-policy-file: %w", err)
		}
	}
	switch o.Auth {
	case "keystone":
		gate.by, err = o.keystone()
	case "oidc":
		gate.by, err = o.OIDC.bearer()
	default:
		gate.by, err = o.users()
	}
	return gate, err
}

func (o *Options) keystone() (authenticator, error) {
	if o.KeystoneURL == "" {
		return nil, errors.New("--auth=keystone needs --auth-keystone-url")
	}
	if _, err := peer.Endpoint("--auth-keystone-url", o.KeystoneURL, true); err != nil {
		return nil, err
	}
	client, err := trusting(o.KeystoneCA, "--auth-keystone-")
	if err != nil {
		return nil, err
	}
	return newKeystone(o.KeystoneURL, client), nil
}

func (o *Options) users() (authenticator, error) {
	if o.UsersFile == "" {
		return nil, fmt.Errorf("--auth=%s needs --auth-users-file", o.Auth)
	}
	users, err := openUsers(o.UsersFile)
	if err != nil {
		return nil, fmt.Errorf("--auth-users-file: %w", err)
	}
	if o.Auth == "tls" {
		return &certificates{users}, nil
	}
	return newBasic(users), nil
}

func (o *OIDCOptions) bearer() (authenticator, error) {
	if (o.Issuer == "") == (o.IntrospectionURL == "") {
		return nil, errors.New("--auth=oidc needs either --auth-oidc-issuer or --auth-oidc-introspection-url")
	}
	if _, err := peer.Endpoint("the address of the authorization server", cmp.Or(o.Issuer, o.IntrospectionURL), true); err != nil {
		return nil, err
	}
	client, err := trusting(o.CAFile, "--auth-oidc-")
	if err != nil {
		return nil, err
	}
	b := &bearer{options: *o, client: client}
	if o.ClientSecretFile != "" {
		if b.secret, err = peer.Secret("--auth-oidc-client-secret-file", o.ClientSecretFile); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// trusting is a client that trusts some authorities. Redirects would send credentials elsewhere.
func trusting(caFile, prefix string) (*http.Client, error) {
	config, err := (&peer.TLSFiles{CAFile: caFile}).Config(prefix)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.TLSClientConfig, transport.MaxIdleConnsPerHost = config, 32
	return &http.Client{Transport: transport, Timeout: callTime,
		CheckRedirect: peer.NoRedirect}, nil
}
