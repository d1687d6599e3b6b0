package kubespray

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// register registers a new cluster as a VIM.
func (s *site) register(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.Open(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	token, wait, err := c.Admin(ctx, s.Call)
	if err != nil || token == "" {
		return wait, err
	}
	config, err := readKubeconfig(ctx, c.Host)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	authority, err := config.authority()
	if err != nil {
		return mgmtdriver.Result{}, fmt.Errorf("%s: %s: %w", c.Host, kube.AdminConfig, err)
	}
	return mgmtdriver.Done(nil), s.Call.Vims.Register(ctx, mgmtdriver.Vim{
		Name: s.vimName, Type: "kubernetes", URL: s.url(), BearerToken: token, CACertificate: authority,
	})
}

// kubeconfig is a configuration of kubectl. It holds secrets.
type kubeconfig map[string]any

// readKubeconfig reads that of the administrator on a master.
func readKubeconfig(ctx context.Context, master *ssh.Host) (kubeconfig, error) {
	content, err := master.Read(ctx, kube.AdminConfig, true, 1<<20)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	err = yaml.Unmarshal(content, &document)
	config := kubeconfig(document)
	if err != nil || len(config.clusters()) == 0 {
		return nil, fmt.Errorf("%s: %s is no configuration of kubectl", master, kube.AdminConfig) // the error of the parser may tell secrets
	}
	return config, nil
}

// clusters are those that the configuration knows.
func (k kubeconfig) clusters() []map[string]any {
	list, _ := k["clusters"].([]any)
	var found []map[string]any
	for _, element := range list {
		named, _ := element.(map[string]any)
		if cluster, ok := named["cluster"].(map[string]any); ok {
			found = append(found, cluster)
		}
	}
	return found
}

// at is the configuration for a cluster that answers at another place.
func (k kubeconfig) at(url string) ([]byte, error) {
	for _, cluster := range k.clusters() {
		cluster["server"] = url
	}
	return yaml.Marshal(map[string]any(k))
}

// authority is the certificate of the cluster's authority, in PEM.
func (k kubeconfig) authority() (string, error) {
	encoded, _ := k.clusters()[0]["certificate-authority-data"].(string)
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(content) == 0 {
		return "", errors.New("it has no certificate-authority-data")
	}
	return string(content), nil
}
