// Package demo walks through the life of a VNF over the API of a running server, and tells what it sees: the package is
// onboarded, an instance created, instantiated, scaled and healed, an operation fails and is retried, another is rolled back, and at
// the end the instance is terminated and deleted. [Walk.RunCluster] does the like with a VNF that is a Kubernetes cluster.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Walk is one walk.
type Walk struct {
	BaseURL  string    // of the server, without a path
	CSAR     []byte    // the package to onboard
	Networks []string  // ids in the VIM of the networks for the package's two external virtual links
	Subnets  []string  // ids in the VIM of their subnets
	Spoil    func()    // makes the VIM fail to make the next server
	Out      io.Writer // where the story goes
}

// Run walks, and stops at the first thing that goes wrong.
func (w *Walk) Run(ctx context.Context) error {
	return w.live(ctx, w.instantiation(), w.change)
}

// live walks through the life of an instance of the package.
func (w *Walk) live(ctx context.Context, instantiation map[string]any, change func(ctx context.Context, instance string) error) error {
	vnfdID, pkg, err := w.onboard(ctx)
	if err != nil {
		return err
	}
	instance, err := w.create(ctx, vnfdID)
	if err != nil {
		return err
	}
	if err := w.operate(ctx, instance, "instantiate", instantiation); err != nil {
		return err
	}
	if err := w.show(ctx, instance); err != nil {
		return err
	}
	if err := change(ctx, instance); err != nil {
		return err
	}
	if err := w.operate(ctx, instance, "terminate", map[string]any{"terminationType": "FORCEFUL"}); err != nil {
		return err
	}
	w.say("delete      the VNF instance and the VNF package")
	if _, err := w.call(ctx, http.MethodDelete, instance, nil, nil); err != nil {
		return err
	}
	if _, err := w.call(ctx, http.MethodPatch, pkg, map[string]any{"operationalState": "DISABLED"}, nil); err != nil {
		return err
	}
	_, err = w.call(ctx, http.MethodDelete, pkg, nil, nil)
	return err
}

func (w *Walk) onboard(ctx context.Context) (vnfdID, path string, err error) {
	w.say("onboard     a VNF package of %d KiB", (len(w.CSAR)+1023)/1024)
	location, err := w.call(ctx, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil)
	if err != nil {
		return "", "", err
	}
	path = location
	if err := w.upload(ctx, path+"/package_content"); err != nil {
		return "", "", err
	}
	var info struct {
		OnboardingState          string
		VnfdID                   string `json:"vnfdId"`
		VnfProductName           string
		OnboardingFailureDetails *struct{ Detail string }
	}
	err = w.until(ctx, func() (bool, error) {
		if _, err := w.call(ctx, http.MethodGet, path, nil, &info); err != nil {
			return false, err
		}
		if info.OnboardingFailureDetails != nil {
			return false, errors.New(info.OnboardingFailureDetails.Detail)
		}
		return info.OnboardingState == "ONBOARDED", nil
	})
	w.say("            %s is ONBOARDED, VNFD %s", info.VnfProductName, info.VnfdID)
	return info.VnfdID, path, err
}

func (w *Walk) upload(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, w.BaseURL+path, bytes.NewReader(w.CSAR))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/zip")
	_, err = w.send(request, nil)
	return err
}

func (w *Walk) create(ctx context.Context, vnfdID string) (path string, err error) {
	var instance struct{ ID string }
	location, err := w.call(ctx, http.MethodPost, "/vnflcm/v1/vnf_instances",
		map[string]any{"vnfdId": vnfdID, "vnfInstanceName": "demo"}, &instance)
	if err != nil {
		return "", err
	}
	w.say("create      VNF instance %s", instance.ID)
	return location, nil
}

// instantiation is the request for the sample package two-vdu.
func (w *Walk) instantiation() map[string]any {
	link := func(i int, cpds ...string) map[string]any {
		cps := make([]any, len(cpds))
		for j, cpd := range cpds {
			address := map[string]any{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": w.Subnets[i]}
			cps[j] = map[string]any{"cpdId": cpd, "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
				"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{"ipAddresses": []any{address}},
			}}}}}
		}
		return map[string]any{"id": fmt.Sprintf("external-%d", i), "resourceId": w.Networks[i], "extCps": cps}
	}
	return map[string]any{
		"flavourId":       "simple",
		"extVirtualLinks": []any{link(0, "controller_CP1", "worker_CP1"), link(1, "controller_CP2", "worker_CP2")},
	}
}

// change scales the VNF, heals it, and shows the two ways out of a failure.
func (w *Walk) change(ctx context.Context, instance string) error {
	scale := func(direction string) map[string]any {
		return map[string]any{"type": direction, "aspectId": "worker_group"}
	}
	if err := w.operate(ctx, instance, "scale", scale("SCALE_OUT")); err != nil {
		return err
	}
	for _, way := range []string{"rollback", "retry"} {
		w.say("spoil       the VIM will fail to make the next server")
		w.Spoil()
		operation, err := w.begin(ctx, instance, "scale", scale("SCALE_OUT"))
		if err != nil {
			return err
		}
		if err := w.follow(ctx, operation, "scale", "FAILED_TEMP"); err != nil {
			return err
		}
		if _, err := w.call(ctx, http.MethodPost, operation+"/"+way, nil, nil); err != nil {
			return err
		}
		if err := w.follow(ctx, operation, way, map[string]string{"rollback": "ROLLED_BACK", "retry": "COMPLETED"}[way]); err != nil {
			return err
		}
	}
	if err := w.operate(ctx, instance, "heal", map[string]any{"cause": "demo"}); err != nil {
		return err
	}
	if err := w.operate(ctx, instance, "scale", scale("SCALE_IN")); err != nil {
		return err
	}
	return w.show(ctx, instance)
}

// operate starts an operation and follows it to its end.
func (w *Walk) operate(ctx context.Context, instance, task string, body any) error {
	operation, err := w.begin(ctx, instance, task, body)
	if err != nil {
		return err
	}
	return w.follow(ctx, operation, task, "COMPLETED")
}

// begin starts an operation and returns its path.
func (w *Walk) begin(ctx context.Context, instance, task string, body any) (string, error) {
	return w.call(ctx, http.MethodPost, instance+"/"+task, body, nil)
}

// follow tells every state of an operation until it is in the one that is expected.
func (w *Walk) follow(ctx context.Context, path, what, expected string) error {
	began := time.Now()
	var operation struct {
		OperationState string
		Error          struct{ Detail string }
	}
	seen := ""
	return w.until(ctx, func() (bool, error) {
		if _, err := w.call(ctx, http.MethodGet, path, nil, &operation); err != nil {
			return false, err
		}
		if operation.OperationState != seen {
			seen = operation.OperationState
			w.say("%-11s %-12s after %.1f s", what, seen, time.Since(began).Seconds())
			if seen == "FAILED_TEMP" {
				w.say("            %s", shortened(operation.Error.Detail))
			}
		}
		switch seen {
		case expected:
			return true, nil
		case "FAILED_TEMP", "COMPLETED", "ROLLED_BACK":
			return false, fmt.Errorf("the operation is %s: %s", seen, operation.Error.Detail)
		}
		return false, nil
	})
}

// shortened is the beginning of a reason.
func shortened(reason string) string {
	const enough = 200
	if len(reason) > enough {
		return reason[:enough] + "…"
	}
	return reason
}

// show tells what the VNF consists of.
func (w *Walk) show(ctx context.Context, path string) error {
	type handle struct{ ResourceID string }
	var instance struct {
		InstantiatedVnfInfo struct {
			VnfcResourceInfo []struct {
				VduID           string
				ComputeResource handle
			}
			VnfVirtualLinkResourceInfo []struct {
				VnfVirtualLinkDescID string
				VnfLinkPorts         []any
			}
			VirtualStorageResourceInfo []struct {
				VirtualStorageDescID string
				StorageResource      handle
			}
		}
	}
	if _, err := w.call(ctx, http.MethodGet, path, nil, &instance); err != nil {
		return err
	}
	info := instance.InstantiatedVnfInfo
	for _, vnfc := range info.VnfcResourceInfo {
		w.say("show        VNFC    %-16s server %s", vnfc.VduID, vnfc.ComputeResource.ResourceID)
	}
	for _, storage := range info.VirtualStorageResourceInfo {
		w.say("show        storage %-16s volume %s", storage.VirtualStorageDescID, storage.StorageResource.ResourceID)
	}
	for _, link := range info.VnfVirtualLinkResourceInfo {
		w.say("show        link    %-16s %d ports", link.VnfVirtualLinkDescID, len(link.VnfLinkPorts))
	}
	return nil
}

func (w *Walk) say(format string, words ...any) {
	fmt.Fprintf(w.Out, format+"\n", words...)
}

// until calls done a few times a second until it is true.
func (w *Walk) until(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func (w *Walk) call(ctx context.Context, method, path string, body, into any) (location string, err error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, w.BaseURL+path, content)
	if err != nil {
		return "", err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return w.send(request, into)
}

func (w *Walk) send(request *http.Request, into any) (location string, err error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		problem, _ := io.ReadAll(response.Body) // what has arrived of it is told
		return "", fmt.Errorf("%s %s: %s: %s", request.Method, request.URL.Path, response.Status, problem)
	}
	if into != nil {
		err = json.NewDecoder(response.Body).Decode(into)
	}
	return response.Header.Get("Location"), err
}
