package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestComposeRunsTwoServersBehindAProxy reads docker-compose.yml as Docker does, as far as the parts have to fit each other.
func TestComposeRunsTwoServersBehindAProxy(t *testing.T) {
	t.Parallel()
	type service struct {
		NetworkMode   string `yaml:"network_mode"`
		Environment   map[string]string
		Volumes       []string
		ReadOnly      bool     `yaml:"read_only"`
		CapDrop       []string `yaml:"cap_drop"`
		StopGrace     string   `yaml:"stop_grace_period"`
		Build, Image  string
		Healthcheck   struct{ Test []string }
		Ports, Tmpfs  []string
		DependsOn     map[string]struct{ Condition string } `yaml:"depends_on"`
		SecurityOpt   []string                              `yaml:"security_opt"`
		RestartPolicy string                                `yaml:"restart"`
	}
	var compose struct {
		Services map[string]service
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "docker-compose.yml")), &compose); err != nil {
		t.Fatal(err)
	}
	proxy := read(t, "deploy/haproxy.cfg")
	for _, name := range []string{"vnfm-1", "vnfm-2"} {
		s := compose.Services[name]
		host, _, err := net.SplitHostPort(s.Environment["VNFM_LISTEN"])
		if err != nil || host != "127.0.0.1" || !strings.Contains(proxy, "-"+s.Environment["VNFM_LISTEN"]+"}") {
			t.Errorf("%s listens on %s, where the proxy does not look for it: %v", name, s.Environment["VNFM_LISTEN"], err)
		}
		if s.Environment["VNFM_DATABASE_URL"] == "" || s.Environment["VNFM_DATABASE_URL"] != compose.Services["vnfm-1"].Environment["VNFM_DATABASE_URL"] ||
			len(s.Volumes) != 1 || s.Volumes[0] != "key:/data" {
			t.Errorf("%s does not share the database and the key: %+v", name, s)
		}
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" || s.StopGrace != "45s" || len(s.SecurityOpt) != 1 || s.NetworkMode != "host" {
			t.Errorf("%s: %+v", name, s)
		}
		if s.DependsOn["postgres"].Condition != "service_healthy" {
			t.Errorf("%s does not wait for PostgreSQL", name)
		}
	}
	for _, name := range []string{"postgres", "proxy"} {
		if len(compose.Services[name].Healthcheck.Test) < 2 || compose.Services[name].RestartPolicy != "unless-stopped" {
			t.Errorf("%s: %+v", name, compose.Services[name])
		}
	}
	for name, s := range compose.Services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s to others than this host", name, port)
			}
		}
	}
}

func TestImageRunsAsNobodyAndTellsItsHealth(t *testing.T) {
	t.Parallel()
	stages := strings.Split(read(t, "Dockerfile"), "\nFROM ")
	last := stages[len(stages)-1]
	for _, line := range []string{"gcr.io/distroless/python3", "\nUSER 65532:65532\n", `CMD ["/vnfm", "healthcheck"]`, `ENTRYPOINT ["/vnfm"]`, "\nVOLUME /data\n"} {
		if !strings.Contains(last, line) {
			t.Errorf("the image lacks %q", line)
		}
	}
	if strings.Contains(last, "\nRUN ") {
		t.Error("there is no shell in the image to run anything")
	}
}

// TestDeploymentsUseOptionsThatExist looks for variables that no command knows.
func TestDeploymentsUseOptionsThatExist(t *testing.T) {
	t.Parallel()
	help, err := command(t, "serve", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, help)
	}
	others := regexp.MustCompile(`^VNFM_(PROXY_LISTEN|1|2|HEALTHCHECK_(CERT|KEY)_FILE)$`) // of the proxy, and of another command
	for _, file := range []string{"Dockerfile", "docker-compose.yml", "deploy/vnfm.service", "deploy/haproxy.cfg", "docs/operations.md"} {
		for _, variable := range regexp.MustCompile(`VNFM_[A-Z0-9_]+`).FindAllString(read(t, file), -1) {
			if !strings.Contains(string(help), "$"+variable) && !others.MatchString(variable) {
				t.Errorf("%s has %s, which no option is", file, variable)
			}
		}
	}
}

func TestUnitIsOneOfSystemd(t *testing.T) {
	t.Parallel()
	unit := read(t, "deploy/vnfm.service")
	for _, line := range []string{"User=vnfm", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=", "TimeoutStopSec=35",
		"SystemCallFilter=@system-service"} {
		if !strings.Contains(unit, "\n"+line) {
			t.Errorf("the unit lacks %s", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	// The program and the account need not be on this machine.
	local := strings.NewReplacer("/usr/local/bin/vnfm", "/bin/true", "User=vnfm", "User=daemon", "Group=vnfm", "Group=daemon").Replace(unit)
	file := filepath.Join(t.TempDir(), "vnfm.service")
	if err := os.WriteFile(file, []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("systemd-analyze: %v: %s", err, output)
	}
}
