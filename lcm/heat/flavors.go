package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"

	"vnfm/lcm"
	"vnfm/lcm/hot"
	"vnfm/vnfpkg"
)

// ChooseFlavors implements [lcm.InfraDriver]. The templates of a package name their flavors themselves. A VDU without a fitting flavor gets one that
// the template makes, if Heat allows it.
func (d *Driver) ChooseFlavors(ctx context.Context, vim lcm.VimAccess, request lcm.PlanRequest) (map[string]string, error) {
	chosen := map[string]string{}
	if _, err := request.Package.BaseHOT(request.Flavour.ID); !errors.Is(err, vnfpkg.ErrNoBaseHOT) {
		return chosen, err
	}
	available, err := d.flavors(ctx, vim)
	if err != nil {
		return nil, err
	}
	var unfit []string
	for _, vdu := range request.Flavour.Vdus {
		if request.Assets.Flavors[vdu.Name] != "" {
			continue
		}
		flavor, ok := hot.ChooseFlavor(request.Flavour, vdu.Name, available)
		switch {
		case ok:
			chosen[vdu.Name] = flavor.ID
		case vdu.Flavor != "":
			return nil, &lcm.Rejected{Peer: novaService.peer(vim), Status: http.StatusUnprocessableEntity,
				Detail: fmt.Sprintf("there is no flavor %q, which VDU %s asks for", vdu.Flavor, vdu.Name)}
		default:
			unfit = append(unfit, vdu.Name)
		}
	}
	if len(unfit) == 0 {
		return chosen, nil
	}
	allowed, err := d.mayMakeFlavors(ctx, vim)
	if err == nil && !allowed {
		err = &lcm.Rejected{Peer: novaService.peer(vim), Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no flavor has the virtual resources of VDU %s, and user %s may not make flavors", strings.Join(unfit, ", "), vim.Username)}
	}
	return chosen, err
}

// extraSpecsVersion is the first version of Nova's API, that of Rocky, that tells the extra specs in the list of flavors.
const extraSpecsVersion = "2.61"

// flavors lists the flavors that the VIM offers.
func (d *Driver) flavors(ctx context.Context, vim lcm.VimAccess) ([]hot.NovaFlavor, error) {
	var list []hot.NovaFlavor
	err := d.with(ctx, vim, novaService, http.MethodGet, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		versioned := *client // sessions share the client
		versioned.Microversion = extraSpecsVersion
		pages, err := flavors.ListDetail(&versioned, nil).AllPages(ctx)
		if err != nil {
			return err
		}
		found, err := flavors.ExtractFlavors(pages)
		for _, f := range found {
			list = append(list, hot.NovaFlavor{ID: f.ID, Name: f.Name, VCPUs: f.VCPUs, RAMMiB: f.RAM, DiskGiB: f.Disk, ExtraSpecs: f.ExtraSpecs})
		}
		return err
	})
	return list, err
}

const flavorType = "OS::Nova::Flavor"

// mayMakeFlavors asks Heat, which lists the resource types that the user may use.
func (d *Driver) mayMakeFlavors(ctx context.Context, vim lcm.VimAccess) (bool, error) {
	var answer struct {
		Types []string `json:"resource_types"`
	}
	err := d.do(ctx, vim, heatService, call{
		method: http.MethodGet, path: []string{"resource_types"}, query: url.Values{"name": {flavorType}}, ok: []int{http.StatusOK},
	}, &answer)
	return slices.Contains(answer.Types, flavorType), err
}
