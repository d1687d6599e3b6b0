package lcm

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"vnfm/mgmtdriver"
)

// ownVims is the [mgmtdriver.Vims] of a call.
type ownVims struct {
	registry *VimRegistry
	store    OwnVimStore // nil while a request is only being checked
	run      *Run
}

// Taken implements [mgmtdriver.Vims].
func (o *ownVims) Taken(ctx context.Context, name string) (bool, error) {
	vims, err := o.registry.Vims(ctx)
	return slices.ContainsFunc(vims, func(vim *Vim) bool { return vim.Name == name && vim.InstanceID != o.run.Instance.ID }), err
}

var errOnlyChecked = errors.New("nothing is registered while a request is being checked")

// Register implements [mgmtdriver.Vims].
func (o *ownVims) Register(ctx context.Context, asked mgmtdriver.Vim) error {
	if o.store == nil {
		return errOnlyChecked
	}
	credentials := map[string]any{"bearer_token": asked.BearerToken}
	if asked.CACertificate != "" {
		credentials["ssl_ca_cert"] = asked.CACertificate
	}
	vim := &Vim{
		ID: uuid.New(), Name: asked.Name, Type: asked.Type, AuthURL: asked.URL, Status: "ACTIVE", InstanceID: o.run.Instance.ID,
		Description: "VNF instance " + o.run.Instance.ID.String(),
		VimProject:  map[string]any{"name": ""}, AuthCred: credentials, Extra: asked.Extra,
	}
	if err := o.store.PutOwnVim(ctx, o.run, vim); err != nil {
		return refusedVim("VIM cannot be registered", err)
	}
	entry := VimConnectionInfo{
		ID: o.connectionID(), VimID: vim.ID.String(), VimType: vim.Type, AccessInfo: map[string]any{"authUrl": vim.AuthURL}, Extra: vim.Extra,
	}
	o.connect(func(connections []VimConnectionInfo) []VimConnectionInfo { return append(connections, entry) })
	return nil
}

// Remove implements [mgmtdriver.Vims].
func (o *ownVims) Remove(ctx context.Context) error {
	if o.store == nil {
		return errOnlyChecked
	}
	if err := o.store.RemoveOwnVim(ctx, o.run); err != nil {
		return refusedVim("VIM cannot be removed", err)
	}
	o.connect(func(connections []VimConnectionInfo) []VimConnectionInfo { return connections })
	return nil
}

func refusedVim(title string, err error) error {
	if conflict := (*Conflict)(nil); errors.As(err, &conflict) {
		return &mgmtdriver.Failure{Title: title, Status: http.StatusConflict, Detail: conflict.Detail}
	}
	return err
}

// connectionID is that of the entry of an instance's own VIM.
func (o *ownVims) connectionID() string {
	return uuid.NewSHA1(o.run.Instance.ID, []byte("own vimConnectionInfo")).String()
}

// connect changes the connections of the instance, its own VIM left out. They are committed with the step.
func (o *ownVims) connect(change func([]VimConnectionInfo) []VimConnectionInfo) {
	run := o.run
	if run.Deployment == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(run.Deployment.VimConnectionInfo), func(c VimConnectionInfo) bool { return c.ID == o.connectionID() })
	run.Deployment.VimConnectionInfo = change(others)
	if run.Instance.InstantiationState == Instantiated {
		run.Instance.VimConnectionInfo, run.instanceChanged = MaskConnections(run.Deployment.VimConnectionInfo), true
	}
}
