package kubernetes

import (
	"bytes"
	"context"
	_ "embed" // for the manifest
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// defaultManifest makes the account by which the cluster is a VIM.
//
//go:embed create_admin_token.yaml
var defaultManifest []byte

const (
	manifestInPackage = "Scripts/create_admin_token.yaml" // in place of the default
	manifestPath      = "/tmp/create_admin_token.yaml"
	adminAccount      = "admin"
)

// register registers a new cluster as a VIM.
func (s *site) register(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.whole() {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	token, err := c.adminToken(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if token == "" {
		return s.makeAdmin(ctx, c)
	}
	s.secrets.Add(ssh.Secret(token))
	ca, err := c.caCertificate(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	address := s.address
	if s.outside.IsValid() {
		address = s.outside
		if script, err := s.script(ctx); err != nil {
			return mgmtdriver.Result{}, err
		} else if !script.phased {
			ca = "" // an old script does not know of the address, so the certificate is not for it
		}
	}
	return mgmtdriver.Done(nil), s.call.Vims.Register(ctx, mgmtdriver.Vim{
		Name: s.vimName, Type: "kubernetes", BearerToken: token, CACertificate: ca,
		URL: "https://" + netip.AddrPortFrom(address, uint16(s.port())).String(),
	})
}

// adminTime bounds how long the cluster may take to make a token.
const adminTime = 5 * time.Minute

// makeAdmin applies the manifest of the administrator's account, for which the cluster then makes a token.
func (s *site) makeAdmin(ctx context.Context, c *control) (mgmtdriver.Result, error) {
	var since time.Time
	if json.Unmarshal(s.call.State, &since) != nil {
		since = time.Now()
	}
	if time.Since(since) > adminTime {
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Cluster has no administrator", Status: http.StatusGatewayTimeout,
			Detail: fmt.Sprintf("the cluster has not made a token for the service account %s in kube-system within %s", adminAccount, adminTime)}
	}
	manifest, err := s.manifest(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := c.host.Put(ctx, ssh.File{Path: manifestPath, Content: ssh.Bytes(manifest)}); err != nil {
		return mgmtdriver.Result{}, err
	}
	err = c.kubectl(ctx, "apply", "-f", manifestPath)
	return mgmtdriver.Wait("the cluster makes the token of its administrator").With(since), err
}

// manifest is that of the package, or else the default. Those older than Kubernetes 1.24 name no token, since every account had one.
func (s *site) manifest(ctx context.Context) ([]byte, error) {
	known, err := s.call.Package.Names(ctx)
	if err != nil || !slices.Contains(known, manifestInPackage) {
		return defaultManifest, err
	}
	own, err := mgmtdriver.ReadFile(ctx, s.call.Package, manifestInPackage)
	if err != nil || bytes.Contains(own, []byte("kubernetes.io/service-account-token")) {
		return own, err
	}
	return slices.Concat(own, []byte("\n"), defaultManifest[bytes.LastIndex(defaultManifest, []byte("---\n")):]), nil
}

// adminToken is the token of the administrator's account, "" if there is none yet.
func (c *control) adminToken(ctx context.Context) (string, error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	err := c.kubectlJSON(ctx, &list, "-n", "kube-system", "get", "secrets", "--field-selector", "type=kubernetes.io/service-account-token", "-o", "json")
	if err != nil {
		return "", err
	}
	for _, secret := range list.Items {
		if secret.Metadata.Annotations["kubernetes.io/service-account.name"] != adminAccount || secret.Data["token"] == "" {
			continue
		}
		token, err := base64.StdEncoding.DecodeString(secret.Data["token"])
		if err != nil {
			return "", fmt.Errorf("%s: the token of %s is not base64", c.host, adminAccount)
		}
		return strings.TrimSpace(string(token)), nil
	}
	return "", nil
}

// unregisterWhole removes the VIM when all of the cluster goes to be made again.
func (s *site) unregisterWhole(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.whole() {
		return mgmtdriver.Done(nil), nil
	}
	return unregister(ctx, s.call)
}

// unregister removes the VIM.
func unregister(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
	return mgmtdriver.Done(nil), call.Vims.Remove(ctx)
}
