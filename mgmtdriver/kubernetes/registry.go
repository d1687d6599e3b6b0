package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// connectRegistries lets the new nodes get images from the private registries.
func (s *site) connectRegistries(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.registries) == 0 || len(s.New()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	certificates := map[string][]byte{}
	for _, r := range s.registries {
		if r.certificatePath != "" && certificates[r.certificatePath] == nil {
			if certificates[r.certificatePath], err = mgmtdriver.ReadFile(ctx, s.Call.Package, r.certificatePath); err != nil {
				return mgmtdriver.Result{}, err
			}
		}
	}
	err = s.Each(ctx, s.New(), func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		connect, certs := connectContainerd, containerdCerts
		if known := c.find(n); known != nil && strings.HasPrefix(known.Status.NodeInfo.ContainerRuntimeVersion, "docker://") {
			connect, certs = connectDocker, dockerCerts
		}
		for _, r := range s.registries {
			if err := connect(ctx, host, &r, certificates[r.certificatePath]); err != nil {
				return err
			}
			if err := s.tryRegistry(ctx, host, &r, certs); err != nil {
				return err
			}
		}
		return nil
	})
	return mgmtdriver.Done(nil), err
}

// connectDocker trusts the certificate of a registry and logs in. That a registry has no TLS is what the installation script tells Docker.
func connectDocker(ctx context.Context, host *ssh.Host, r *registry, certificate []byte) error {
	if len(certificate) > 0 {
		file := ssh.File{Path: dockerCerts + r.server + "/ca.crt", Content: ssh.Bytes(certificate), Mode: 0o644, Root: true}
		if err := host.Put(ctx, file); err != nil {
			return err
		}
	}
	if r.username == "" {
		return nil
	}
	output, err := host.Run(ctx, ssh.Command{
		Argv:  []string{"docker", "login", r.server, "--username", r.username, "--password-stdin"},
		Stdin: strings.NewReader(string(r.password)), Root: true,
	})
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) {
		return &mgmtdriver.Failure{Title: "Registry cannot be used", Status: http.StatusBadGateway,
			Detail: fmt.Sprintf("Failed to login Docker private registry. ErrInfo:[%s]", exit)}
	}
	if err == nil && !strings.Contains(output.Stdout, "Login Succeeded") {
		return &mgmtdriver.Failure{Title: "Registry cannot be used", Status: http.StatusBadGateway,
			Detail: fmt.Sprintf("Failed to login Docker private registry. ErrInfo:[%s: %s]", host, r.server)}
	}
	return err
}

const (
	dockerCerts     = "/etc/docker/certs.d/"
	containerdCerts = "/etc/containerd/certs.d/"
	kubeletLogins   = "/var/lib/kubelet/config.json"
)

// connectContainerd tells containerd how a registry is reached, and the kubelet how to log in there.
func connectContainerd(ctx context.Context, host *ssh.Host, r *registry, certificate []byte) error {
	dir, url := containerdCerts+r.server, r.url()
	hosts := fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", url, url)
	if len(certificate) > 0 {
		if err := host.Put(ctx, ssh.File{Path: dir + "/ca.crt", Content: ssh.Bytes(certificate), Mode: 0o644, Root: true}); err != nil {
			return err
		}
		hosts += fmt.Sprintf("  ca = %q\n", dir+"/ca.crt")
	}
	if err := host.Put(ctx, ssh.File{Path: dir + "/hosts.toml", Content: ssh.Bytes([]byte(hosts)), Mode: 0o644, Root: true}); err != nil {
		return err
	}
	if r.username == "" {
		return nil
	}
	content, err := host.Read(ctx, kubeletLogins, true, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	logins, err := withLogin(content, r)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", host, kubeletLogins, err)
	}
	return host.Put(ctx, ssh.File{Path: kubeletLogins, Content: ssh.Bytes(logins), Root: true})
}

// withLogin adds a login to a configuration of Docker's format.
func withLogin(content []byte, r *registry) ([]byte, error) {
	config := map[string]any{}
	if len(content) > 0 {
		if err := json.Unmarshal(content, &config); err != nil {
			return nil, err
		}
	}
	logins, _ := config["auths"].(map[string]any)
	if logins == nil {
		logins = map[string]any{}
	}
	secret := base64.StdEncoding.EncodeToString([]byte(r.username + ":" + string(r.password)))
	logins[r.server] = map[string]any{"auth": secret}
	config["auths"] = logins
	return json.MarshalIndent(config, "", "\t")
}
