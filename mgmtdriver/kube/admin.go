package kube

import (
	"bytes"
	"context"
	_ "embed" // for the manifest
	"encoding/base64"
	"fmt"
	"net/http"
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

	adminTime = 5 * time.Minute // that the cluster may take to make a token
)

// Admin is a step that makes the administrator's account by which the cluster is a VIM. While there is no token yet, the step waits with the
// result. The token is removed from logs and errors of the host.
func (c *Client) Admin(ctx context.Context, call *mgmtdriver.Call) (token string, wait mgmtdriver.Result, err error) {
	if token, err = c.adminToken(ctx); err != nil || token != "" {
		c.Host.Redactor().Add(ssh.Secret(token))
		return token, mgmtdriver.Result{}, err
	}
	since := call.Since()
	if time.Since(since) > adminTime {
		return "", mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Cluster has no administrator", Status: http.StatusGatewayTimeout,
			Detail: fmt.Sprintf("the cluster has not made a token for the service account %s in kube-system within %s", adminAccount, adminTime)}
	}
	content, err := manifest(ctx, call.Package)
	if err != nil {
		return "", mgmtdriver.Result{}, err
	}
	if err := c.Host.Put(ctx, ssh.File{Path: manifestPath, Content: ssh.Bytes(content)}); err != nil {
		return "", mgmtdriver.Result{}, err
	}
	err = c.Run(ctx, "apply", "-f", manifestPath)
	return "", mgmtdriver.Wait("the cluster makes the token of its administrator").With(since), err
}

// manifest is that of the package, or else the default. Those older than Kubernetes 1.24 name no token, since every account had one.
func manifest(ctx context.Context, pkg mgmtdriver.Package) ([]byte, error) {
	known, err := pkg.Names(ctx)
	if err != nil || !slices.Contains(known, manifestInPackage) {
		return defaultManifest, err
	}
	own, err := mgmtdriver.ReadFile(ctx, pkg, manifestInPackage)
	if err != nil || bytes.Contains(own, []byte("kubernetes.io/service-account-token")) {
		return own, err
	}
	return slices.Concat(own, []byte("\n"), defaultManifest[bytes.LastIndex(defaultManifest, []byte("---\n")):]), nil
}

// adminToken is the token of the administrator's account, "" if there is none yet.
func (c *Client) adminToken(ctx context.Context) (string, error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	err := c.JSON(ctx, &list, "-n", "kube-system", "get", "secrets", "--field-selector", "type=kubernetes.io/service-account-token", "-o", "json")
	if err != nil {
		return "", err
	}
	for _, secret := range list.Items {
		if secret.Metadata.Annotations["kubernetes.io/service-account.name"] != adminAccount || secret.Data["token"] == "" {
			continue
		}
		token, err := base64.StdEncoding.DecodeString(secret.Data["token"])
		if err != nil {
			return "", fmt.Errorf("%s: the token of %s is not base64", c.Host, adminAccount)
		}
		return strings.TrimSpace(string(token)), nil
	}
	return "", nil
}
