package demo

import (
	"context"
	"errors"
	"net/http"
)

// RunCluster walks through the life of a Kubernetes cluster with three masters: it is made, gets a worker more, one of its masters is
// healed, and loses a worker.
func (w *Walk) RunCluster(ctx context.Context) error {
	return w.live(ctx, w.clusterInstantiation(), func(ctx context.Context, instance string) error {
		scale := func(direction string) map[string]any {
			return map[string]any{"type": direction, "aspectId": "worker_instance"}
		}
		if err := w.showVim(ctx, instance); err != nil {
			return err
		}
		if err := w.operate(ctx, instance, "scale", scale("SCALE_OUT")); err != nil {
			return err
		}
		master, err := w.vnfc(ctx, instance, "masterNode")
		if err != nil {
			return err
		}
		if err := w.operate(ctx, instance, "heal", map[string]any{"vnfcInstanceId": []string{master}, "cause": "demo"}); err != nil {
			return err
		}
		return w.operate(ctx, instance, "scale", scale("SCALE_IN"))
	})
}

// clusterInstantiation is the request for flavour complex of the sample package kubernetes.
func (w *Walk) clusterInstantiation() map[string]any {
	group := func(aspect, cp string) map[string]any {
		return map[string]any{"aspect_id": aspect, "ssh_cp_name": cp, "nic_cp_name": cp, "username": "ubuntu", "password": "ubuntu"}
	}
	masters := group("master_instance", "masterNode_CP1")
	masters["cluster_cp_name"] = "vip_CP"
	link := func(id, cpd string) map[string]any {
		return map[string]any{"id": id, "resourceId": w.Networks[0], "extCps": []any{map[string]any{"cpdId": cpd, "cpConfig": []any{map[string]any{}}}}}
	}
	return map[string]any{
		"flavourId":       "complex",
		"extVirtualLinks": []any{link("masters", "masterNode_CP1"), link("workers", "workerNode_CP2")},
		"additionalParams": map[string]any{
			"k8s_cluster_installation_param": map[string]any{
				"script_path": "Scripts/install_k8s_cluster.sh", "vim_name": "demo-cluster",
				"master_node": masters, "worker_node": group("worker_instance", "workerNode_CP2"),
			},
		},
	}
}

// vnfc is the id of one of a VDU.
func (w *Walk) vnfc(ctx context.Context, instance, vdu string) (string, error) {
	var shown struct {
		InstantiatedVnfInfo struct {
			VnfcResourceInfo []struct {
				ID    string `json:"id"`
				VduID string `json:"vduId"`
			}
		}
	}
	if _, err := w.call(ctx, http.MethodGet, instance, nil, &shown); err != nil {
		return "", err
	}
	for _, vnfc := range shown.InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == vdu {
			return vnfc.ID, nil
		}
	}
	return "", errors.New("the VNF has no " + vdu)
}

// showVim tells of the VIM that the VNF is.
func (w *Walk) showVim(ctx context.Context, instance string) error {
	var shown struct {
		VimConnectionInfo []struct {
			VimType    string
			AccessInfo struct{ AuthURL string }
		}
	}
	if _, err := w.call(ctx, http.MethodGet, instance, nil, &shown); err != nil {
		return err
	}
	for _, connection := range shown.VimConnectionInfo {
		if connection.AccessInfo.AuthURL != "" {
			w.say("show        VIM     %-16s %s", connection.VimType, connection.AccessInfo.AuthURL)
		}
	}
	return nil
}
