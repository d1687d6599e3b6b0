package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// imageTag marks the images that were made here, for those who look at Glance.
const imageTag = "vnfm"

// ProvideImage implements [lcm.InfraDriver]. Glance never gives an id a second time, so an image that is half there is given up with
// its id: whoever still sends its content gets an error.
func (d *Driver) ProvideImage(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource) (lcm.ImageState, error) {
	hash, err := newImageHash(source.Checksum)
	if err != nil {
		return "", d.rejected(vim, source, err)
	}
	found, err := d.image(ctx, vim, source.ID)
	switch {
	case err != nil:
		return "", err
	case found == nil && source.Remote():
		return d.fetch(ctx, vim, source)
	case found == nil:
		return d.send(ctx, vim, source, hash)
	case found.Status == images.ImageStatusActive && source.Ready:
		return lcm.ImageComplete, nil
	case found.Status == images.ImageStatusActive:
		return d.check(ctx, vim, source, found)
	case source.Remote():
		return d.fetched(ctx, vim, source, found)
	}
	return lcm.ImageUnusable, nil
}

// RemoveImage implements [lcm.InfraDriver].
func (d *Driver) RemoveImage(ctx context.Context, vim lcm.VimAccess, id uuid.UUID) error {
	err := d.with(ctx, vim, glanceService, http.MethodDelete, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		return images.Delete(ctx, client, id.String()).ExtractErr()
	})
	if refusedWith(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// image returns an image, nil if there is none.
func (d *Driver) image(ctx context.Context, vim lcm.VimAccess, id uuid.UUID) (*images.Image, error) {
	var found *images.Image
	err := d.with(ctx, vim, glanceService, http.MethodGet, func(ctx context.Context, client *gophercloud.ServiceClient) (err error) {
		found, err = images.Get(ctx, client, id.String()).Extract()
		return err
	})
	if refusedWith(err, http.StatusNotFound) {
		return nil, nil
	}
	return found, err
}

// create makes an image without content. False if the id has been used.
func (d *Driver) create(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource) (bool, error) {
	const mib, gib = 1 << 20, 1 << 30
	visibility := images.ImageVisibilityPrivate
	err := d.with(ctx, vim, glanceService, http.MethodPost, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		return images.Create(ctx, client, images.CreateOpts{
			ID:              source.ID.String(),
			Name:            source.Name,
			Visibility:      &visibility,
			ContainerFormat: strings.ToLower(source.ContainerFormat),
			DiskFormat:      strings.ToLower(source.DiskFormat),
			MinDisk:         units(source.MinDiskBytes, gib),
			MinRAM:          units(source.MinRAMBytes, mib),
			Tags:            []string{imageTag},
		}).Err
	})
	if refusedWith(err, http.StatusConflict) {
		return false, nil
	}
	return err == nil, err
}

// units is the number of units that hold so many bytes.
func units(bytes, unit int64) int { return int((bytes + unit - 1) / unit) }

// fetch makes Glance get an image from its URL.
func (d *Driver) fetch(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource) (lcm.ImageState, error) {
	var info *imageimport.ImportInfo
	err := d.with(ctx, vim, glanceService, http.MethodGet, func(ctx context.Context, client *gophercloud.ServiceClient) (err error) {
		info, err = imageimport.Get(ctx, client).Extract()
		return err
	})
	if refusedWith(err, http.StatusNotFound) {
		info, err = &imageimport.ImportInfo{}, nil
	}
	if err != nil {
		return "", err
	}
	if !slices.Contains(info.ImportMethods.Value, string(imageimport.WebDownloadMethod)) {
		return "", d.rejected(vim, source, errors.New("the VIM does not import images from URLs (web-download): put the file into the package"))
	}
	if made, err := d.create(ctx, vim, source); err != nil || !made {
		return lcm.ImageUnusable, err
	}
	return lcm.ImageInProgress, d.startImport(ctx, vim, source)
}

// startImport asks Glance to fetch an image that is empty. Asked twice, it says that it is at it. An image that it refuses to fetch, as
// from a host that its operator does not allow, is removed.
func (d *Driver) startImport(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource) error {
	err := d.with(ctx, vim, glanceService, http.MethodPost, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		options := imageimport.CreateOpts{Name: imageimport.WebDownloadMethod, URI: source.Path}
		return imageimport.Create(ctx, client, source.ID.String(), options).ExtractErr()
	})
	if refusedWith(err, http.StatusConflict) {
		return nil
	}
	var rejected *lcm.Rejected
	if errors.As(err, &rejected) {
		return d.refuse(ctx, vim, source, errors.New(rejected.Detail))
	}
	return err
}

// importBegin is how long after its creation an image may be empty. Glance does not tell ordinary users that an import has failed: the image is
// empty again.
const importBegin = time.Minute

// fetched looks at an image that Glance fetches.
func (d *Driver) fetched(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource, found *images.Image) (lcm.ImageState, error) {
	stores, _ := found.Properties["os_glance_failed_import"].(string)
	switch {
	case found.Status != images.ImageStatusQueued:
		return lcm.ImageInProgress, nil
	case stores == "" && time.Since(found.CreatedAt) < importBegin:
		return lcm.ImageInProgress, d.startImport(ctx, vim, source) // in case the call that should have asked for it was lost
	}
	return "", d.refuse(ctx, vim, source, errors.New("Glance could not fetch it from "+source.Path))
}

// check compares an image whose upload or import has ended with the VNFD.
func (d *Driver) check(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource, found *images.Image) (lcm.ImageState, error) {
	algorithm, hash := hashOf(found)
	_, expected := vnfpkg.NewHash(source.Checksum.Algorithm)
	switch {
	case source.Checksum.Hash == "" && source.Remote():
		return lcm.ImageComplete, nil
	case algorithm == expected && strings.EqualFold(hash, source.Checksum.Hash):
		return lcm.ImageComplete, nil
	case source.Remote() && algorithm != expected:
		return "", d.refuse(ctx, vim, source, fmt.Errorf("the checksum in the VNFD is a %s, and Glance tells the %s of what it has fetched: "+
			"the VNFD has to give the latter", expected, algorithm))
	case source.Remote():
		return "", d.refuse(ctx, vim, source, fmt.Errorf("the %s of what Glance has fetched is %s, not %s as in the VNFD", expected, hash, source.Checksum.Hash))
	}
	// The process died between the upload and the look at it, and the algorithms differ.
	return lcm.ImageUnusable, nil
}

// hashOf is what Glance has computed of the content, with the usual name of the algorithm.
func hashOf(image *images.Image) (algorithm, hash string) {
	name, _ := image.Properties["os_hash_algo"].(string)
	hash, _ = image.Properties["os_hash_value"].(string)
	_, algorithm = vnfpkg.NewHash(name)
	return algorithm, hash
}

// refuse removes an image that is not what it should be, and says why.
func (d *Driver) refuse(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource, reason error) error {
	if err := d.RemoveImage(ctx, vim, source.ID); err != nil {
		return err
	}
	return d.rejected(vim, source, reason)
}

func (d *Driver) rejected(vim lcm.VimAccess, source lcm.ImageSource, reason error) error {
	return &lcm.Rejected{Peer: glanceService.peer(vim), Status: http.StatusUnprocessableEntity,
		Detail: fmt.Sprintf("image %q of the VNF package: %s", source.Name, reason)}
}
