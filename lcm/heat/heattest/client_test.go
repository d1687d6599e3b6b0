package heattest_test

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
)

// bundle is a cloud and clients of its services.
type bundle struct {
	*testing.T
	cloud    *heattest.Cloud
	provider *gophercloud.ProviderClient
	heat     *gophercloud.ServiceClient
	nova     *gophercloud.ServiceClient
	neutron  *gophercloud.ServiceClient
	glance   *gophercloud.ServiceClient
	cinder   *gophercloud.ServiceClient
}

func setup(t *testing.T, opts heattest.Options) *bundle {
	t.Helper()
	b := &bundle{T: t, cloud: heattest.Start(t, opts)}
	account := b.cloud.Account()
	ctx := t.Context()
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: b.cloud.AuthURL(), Username: account.User, Password: account.Password, TenantName: account.Project,
		DomainName: account.Domain, AllowReauth: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.provider = provider
	b.provider.HTTPClient.Transport = &http.Transport{}
	t.Cleanup(func() { b.provider.HTTPClient.Transport.(*http.Transport).CloseIdleConnections() })
	endpoint := gophercloud.EndpointOpts{Region: account.Region}
	for target, open := range map[**gophercloud.ServiceClient]func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error){
		&b.heat: openstack.NewOrchestrationV1, &b.nova: openstack.NewComputeV2, &b.neutron: openstack.NewNetworkV2, &b.glance: openstack.NewImageV2,
		&b.cinder: openstack.NewBlockStorageV3,
	} {
		if *target, err = open(provider, endpoint); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// stackBody is the body of a create or update, without gophercloud's own reading of templates.
type stackBody map[string]any

func (b stackBody) ToStackCreateMap() (map[string]any, error)      { return b, nil }
func (b stackBody) ToStackUpdateMap() (map[string]any, error)      { return b, nil }
func (b stackBody) ToStackUpdatePatchMap() (map[string]any, error) { return b, nil }

func (b *bundle) create(body stackBody) *stacks.RetrievedStack {
	b.Helper()
	created, err := stacks.Create(b.Context(), b.heat, body).Extract()
	if err != nil {
		b.Fatalf("create stack: %v", err)
	}
	return b.settle(body["stack_name"].(string), created.ID)
}

// settle waits until nothing is going on in the stack.
func (b *bundle) settle(name, id string) *stacks.RetrievedStack {
	b.Helper()
	for {
		s, err := stacks.Get(b.Context(), b.heat, name, id).Extract()
		if err != nil {
			b.Fatalf("show stack: %v", err)
		}
		if s.Status[len(s.Status)-len("PROGRESS"):] != "PROGRESS" {
			return s
		}
		pause(b.Context())
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Millisecond):
	}
}

func (b *bundle) update(name, id string, body stackBody) *stacks.RetrievedStack {
	b.Helper()
	if err := stacks.UpdatePatch(b.Context(), b.heat, name, id, body).ExtractErr(); err != nil {
		b.Fatalf("update stack: %v", err)
	}
	return b.settle(name, id)
}

// resources lists the stack with everything nested.
func (b *bundle) resources(name, id string) []stackresources.Resource {
	b.Helper()
	pages, err := stackresources.List(b.heat, name, id, stackresources.ListOpts{Depth: 5}).AllPages(b.Context())
	if err != nil {
		b.Fatalf("list resources: %v", err)
	}
	list, err := stackresources.ExtractResources(pages)
	if err != nil {
		b.Fatalf("read resources: %v", err)
	}
	return list
}

func okCodes(codes ...int) *gophercloud.RequestOpts { return &gophercloud.RequestOpts{OkCodes: codes} }

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
