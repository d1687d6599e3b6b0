package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"

	"vnfm/mgmtdriver"
	"vnfm/vnfpkg"
)

// callOf is what a driver is called with, but for the VNFCs and the package.
func (h *hooks) callOf(run *Run, v visit) (*mgmtdriver.Call, error) {
	var asked struct{ AdditionalParams map[string]any }
	if err := json.Unmarshal(run.Request, &asked); err != nil {
		return nil, &InvalidRequest{Detail: "the body does not fit the operation: " + err.Error()}
	}
	operation, instance := run.Operation, run.Instance
	call := &mgmtdriver.Call{
		Hook: v.hook,
		Operation: mgmtdriver.Operation{
			ID: operation.ID.String(), Type: string(operation.Type), Request: run.Request, AdditionalParams: asked.AdditionalParams,
			RollingBack: operation.State == StateRollingBack,
		},
		Instance: mgmtdriver.Instance{
			ID: instance.ID.String(), Name: instance.Name, VnfdID: instance.VnfdID, FlavourID: v.flavour.ID,
		},
		Log:  slog.New(&redactingHandler{operation.logTo(h.log).Handler(), run.redactor()}).With("run", run.Number, "driver", v.driver(), "hook", string(v.hook)),
		Vims: &ownVims{registry: h.vims, store: h.ownVims, run: run},
		// What the former call has kept.
		State: run.stepState,
	}
	switch {
	case run.Deployment != nil && run.Deployment.Request != nil:
		call.Instance.AdditionalParams = run.Deployment.Request.AdditionalParams
	case instance.InstantiatedVnfInfo != nil:
		call.Instance.AdditionalParams = instance.InstantiatedVnfInfo.AdditionalParams
	case operation.Type == OpInstantiate:
		call.Instance.AdditionalParams = asked.AdditionalParams
	}
	call.Outputs = outputsOf(run, v)
	return call, nil
}

// outputsOf are the outputs of the steps that the same driver has done.
func outputsOf(run *Run, v visit) map[string]json.RawMessage {
	outputs := map[string]json.RawMessage{}
	for _, record := range run.Operation.Steps {
		name, under := strings.CutPrefix(record.Name, v.under)
		hook, step, ok := strings.Cut(name, "/")
		if under && ok && !strings.Contains(step, "/") && v.flavour.Hooks[hook] == v.driver() && record.State == StepDone {
			outputs[name] = record.Output
		}
	}
	return outputs
}

// driverError puts the failure of a driver into the words of this package.
func driverError(driver string, err error) error {
	var (
		failure     *mgmtdriver.Failure
		invalid     *mgmtdriver.Invalid
		unavailable *mgmtdriver.Unavailable
	)
	switch {
	case errors.As(err, &failure):
		return &Failure{Title: Legible(cmp.Or(failure.Title, "Management driver failed")), Detail: Legible(failure.Detail),
			Status: cmp.Or(failure.Status, http.StatusInternalServerError)}
	case errors.As(err, &invalid):
		return &Failure{Title: "Management driver refused the request", Status: http.StatusBadRequest, Detail: Legible(invalid.Error())}
	case errors.As(err, &unavailable):
		return &Unavailable{Peer: Legible(unavailable.Peer), Err: errors.New(Legible(unavailable.Err.Error()))}
	}
	return errors.New(Legible(fmt.Sprintf("driver %s: %v", driver, err)))
}

// checkError is the same for an answer to a client.
func checkError(driver string, err error) error {
	var (
		failure *mgmtdriver.Failure
		invalid *mgmtdriver.Invalid
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return &InvalidRequest{invalid.Attribute, invalid.Detail}
	case errors.As(err, &failure):
		return &Unprocessable{Detail: failure.Detail}
	}
	return driverError(driver, err)
}

// hostKeys are the host keys of the instance that a driver works on.
type hostKeys struct {
	store HostKeyStore
	run   *Run
}

// HostKey implements [mgmtdriver.HostKeys].
func (k *hostKeys) HostKey(ctx context.Context, host mgmtdriver.Host) (string, error) {
	return k.store.HostKey(ctx, k.run.Instance.ID, host)
}

// KeepHostKey implements [mgmtdriver.HostKeys].
func (k *hostKeys) KeepHostKey(ctx context.Context, host mgmtdriver.Host, key string) (string, error) {
	return k.store.KeepHostKey(ctx, k.run, host, key)
}

// packageFiles is the VNF package that a driver sees. It is opened when it is used first.
type packageFiles struct {
	source PackageSource
	id     uuid.UUID

	opening sync.Mutex
	csar    *vnfpkg.StoredCSAR
}

func (p *packageFiles) open(ctx context.Context) (*vnfpkg.StoredCSAR, error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.csar == nil {
		csar, err := p.source.OpenCSAR(ctx, p.id)
		if err != nil {
			return nil, fmt.Errorf("open VNF package %s: %w", p.id, err)
		}
		p.csar = csar
	}
	return p.csar, nil
}

func (p *packageFiles) close() {
	if p.csar != nil {
		p.csar.Close()
	}
}

// Names implements [mgmtdriver.Package].
func (p *packageFiles) Names(ctx context.Context) ([]string, error) {
	csar, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	return csar.Names(), nil
}

// Open implements [mgmtdriver.Package].
func (p *packageFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	csar, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	file, err := csar.Open(path)
	if errors.Is(err, vnfpkg.ErrNotFound) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return file, err
}
