# The commands of the project; README.md tells what each is for.
SHELL := /bin/bash
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(shell go env GOPATH)/bin/golangci-lint
GOVULNCHECK_VERSION := v1.1.4
GOVULNCHECK := $(shell go env GOPATH)/bin/govulncheck
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

.PHONY: build demo run test race test-upgrade soak e2e bench lint generate postgres python openssh openssl chromium

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/vnfm .

demo: postgres build
	bin/vnfm demo $(ARGS)

run: postgres build
	bin/vnfm serve --with-openstack-sim $(ARGS)

test: postgres python openssh openssl chromium
	go test -parallel 8 -timeout 20m ./...

race: postgres python openssh openssl chromium
	go test -race -parallel 8 -timeout 40m ./...

# The version before this one: that of the last release, and as long as there is none, the one before the newest migration.
FROM ?= $(shell git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || git rev-parse "$$(git log -1 --diff-filter=A --format=%H -- migrations)^")

test-upgrade: postgres python
	rm -rf bin/former && mkdir -p bin/former
	git archive $(FROM) | tar -x -C bin/former
	cd bin/former && go build -buildvcs=false -o ../vnfm-former .
	VNFM_TEST_FORMER=$(CURDIR)/bin/vnfm-former go test -v -timeout 10m -run TestRollingUpgrade .

# For how long, as Go writes it.
VNFM_SOAK ?= 24m

soak: postgres
	VNFM_SOAK=$(VNFM_SOAK) go test -v -timeout 0 -run '^TestSoak$$' .

e2e: postgres
	e2e/run

bench: postgres openssh
	go test -run "^$$$$" -bench . -benchtime 1x -timeout 30m . ./store ./lcm/notify ./mgmtdriver/kubernetes ./mgmtdriver/ssh

lint: $(GOLANGCI_LINT) $(GOVULNCHECK)
	$(GOLANGCI_LINT) run ./...
	$(GOLANGCI_LINT) run --build-tags e2e ./e2e/...
	.ci/check-vulnerabilities $(GOVULNCHECK)
	$(MAKE) --no-print-directory generate
	git diff --exit-code -- api || { echo 'generated files are not current: run make generate'; exit 1; }

generate:
	go generate ./...

$(GOLANGCI_LINT):
	go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(GOVULNCHECK):
	go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

# The PostgreSQL server binaries, from the distribution; no cluster is made and no service started.
postgres:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || ./.ci/install-postgres

# For the user data scripts of VNF packages.
python:
	@command -v python3 >/dev/null || ./.ci/install-python

# A real server for the tests of remote execution; no service is started.
openssh:
	@{ [ -x /usr/sbin/sshd ] || command -v sshd >/dev/null; } && command -v ssh-keygen >/dev/null || ./.ci/install-openssh

# Signs VNF packages in tests.
openssl:
	@command -v openssl >/dev/null || ./.ci/install-openssl

# The operations page is tested in it.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || ./.ci/install-chromium
