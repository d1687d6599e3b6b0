package lcm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// Names of the steps that provide what a VNF is made from.
const (
	stepUploadImages  = "upload_images"
	stepRemoveImages  = "remove_images"
	stepChooseFlavors = "choose_flavors"
)

// Functions that tell steps of which shape a VNF is to be, and which deployment it has, or keeps.
type (
	wantedShape func(context.Context, *Run) (shape, error)
	deployed    func(*Run) (*Deployment, error)
)

// uploading is the step that brings the software images of the package into the VIM, for a VNF of the shape wanted. Those of the deployment
// kept stay whatever becomes of the operation. Its output are the Glance ids by VDU or storage.
func (p *planner) uploading(wanted wantedShape, kept deployed) Step {
	return Step{
		Name: stepUploadImages, Do: p.uploadImages(wanted, kept), Undo: []Step{{Name: stepRemoveImages, Do: p.removeImages(kept)}},
	}
}

// uploadImages makes sure that the images which the package contains are in the VIM, but for those that are given already. A large one
// takes many minutes in one call, which the limit of a run does not end: it is looked at between calls only, and the lease is
// renewed meanwhile, so that an upload ends with its process, with the loss of the lease or when it is cancelled. Glance cannot continue
// an upload that was cut off; it is begun again.
func (p *planner) uploadImages(wanted wantedShape, kept deployed) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		of, flavour, csar, err := p.sources(ctx, run, wanted)
		if err != nil {
			return Result{}, err
		}
		defer csar.Close()
		ids := map[string]string{}
		for _, image := range flavour.Images() {
			nodes := slices.DeleteFunc(image.Nodes, func(node string) bool { return of.assets.Images[node] != "" })
			if len(nodes) == 0 {
				continue
			}
			id, err := p.provideImage(ctx, run, csar.CSAR, image.Image)
			if err != nil {
				return Result{}, err
			}
			if id == uuid.Nil {
				return Wait(fmt.Sprintf("image %q is being made by another operation or by the VIM", image.Name)), nil
			}
			for _, node := range nodes {
				ids[node] = id.String()
			}
		}
		_, err = p.tidyImages(ctx, run, kept, ids)
		return Done(ids), err
	}
}

// sources are the shape that is wanted, its flavour and the package, which has to be closed.
func (p *planner) sources(ctx context.Context, run *Run, wanted wantedShape) (shape, *vnfpkg.Flavour, *vnfpkg.StoredCSAR, error) {
	of, err := wanted(ctx, run)
	if err != nil {
		return shape{}, nil, nil, err
	}
	flavour, err := p.flavour(ctx, run.Instance, of.request)
	if err != nil {
		return shape{}, nil, nil, err
	}
	csar, err := p.packages.OpenCSAR(ctx, run.Instance.VnfPkgID)
	if err != nil {
		return shape{}, nil, nil, fmt.Errorf("open VNF package %s: %w", run.Instance.VnfPkgID, err)
	}
	return of, flavour, csar, nil
}

// importPatience is how long a VIM gets to fetch an image from a URL.
const importPatience = 2 * time.Hour

// provideImage brings one image into the VIM, unless it is there. The id is nil if that has to be waited for.
func (p *planner) provideImage(ctx context.Context, run *Run, csar *vnfpkg.CSAR, image vnfpkg.Image) (uuid.UUID, error) {
	key, err := imageKey(run, image)
	if err != nil {
		return uuid.Nil, err
	}
	use, err := p.images.UseImage(ctx, run, key)
	if err != nil || use.Busy {
		return uuid.Nil, err
	}
	source := ImageSource{ID: use.ID, Image: image, Ready: use.Ready}
	if !image.Remote() {
		source.Open = func() (io.ReadCloser, error) { return csar.Open(image.Path) }
	}
	state, err := p.driver.ProvideImage(ctx, run.Deployment.Vim, source)
	switch {
	case err != nil:
		return uuid.Nil, err
	case state == ImageUnusable:
		return uuid.Nil, p.images.CondemnImage(ctx, run, use.ID)
	case state == ImageInProgress && time.Since(run.stepBegan) > importPatience:
		return uuid.Nil, &Failure{Title: "Image is not imported", Status: http.StatusGatewayTimeout,
			Detail: fmt.Sprintf("the VIM has not fetched the image %q from %s within %s", image.Name, image.Path, importPatience)}
	case state == ImageInProgress:
		return uuid.Nil, nil
	case !use.Ready:
		if err := p.images.ImageReady(ctx, run, use.ID); err != nil {
			return uuid.Nil, err
		}
	}
	return use.ID, nil
}

func imageKey(run *Run, image vnfpkg.Image) (ImageKey, error) {
	described, err := json.Marshal(image)
	if err != nil {
		return ImageKey{}, err
	}
	sum := sha256.Sum256(described)
	return ImageKey{Vim: placeOf(run.Deployment.Vim), VnfPkgID: run.Instance.VnfPkgID, Digest: hex.EncodeToString(sum[:])}, nil
}

// placeOf identifies what shares its images: a project in a region. The id of a VIM does not, since clients choose those of their own VIMs.
func placeOf(vim VimAccess) string {
	return strings.Join([]string{vim.AuthURL, vim.Region, vim.ProjectDomain, vim.Project}, " ")
}

// removeImages removes the images from the VIM that neither the instance keeps nor another one uses.
func (p *planner) removeImages(kept deployed) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		if run.Deployment == nil {
			return Done(nil), nil
		}
		refused, err := p.tidyImages(ctx, run, kept, nil)
		switch {
		case err != nil:
			return Result{}, err
		case refused == nil:
			return Done(nil), nil
		case time.Since(run.stepBegan) < deletionPatience:
			return Wait(refused.Error()), nil
		}
		return Result{}, refused
	}
}

// tidyImages removes all condemned images from the VIM, after those of the instance that are not kept have become so. Refused tells
// why the VIM does not remove one that the instance has used, as it does while a server is being deleted that shares its blocks.
func (p *planner) tidyImages(ctx context.Context, run *Run, kept deployed, uploaded map[string]string) (refused, err error) {
	deployment, err := kept(run)
	if err != nil {
		return nil, err
	}
	var keep []uuid.UUID
	for _, images := range []map[string]string{deployment.Assets.Images, uploaded} {
		for _, image := range images {
			if id, err := uuid.Parse(image); err == nil {
				keep = append(keep, id)
			}
		}
	}
	condemned, err := p.images.ReleaseImages(ctx, run, placeOf(run.Deployment.Vim), keep)
	if err != nil {
		return nil, err
	}
	for _, image := range condemned {
		err := p.driver.RemoveImage(ctx, run.Deployment.Vim, image.ID)
		var rejected *Rejected
		switch {
		case errors.As(err, &rejected):
			if image.Own {
				refused = err
			}
			continue
		case err != nil:
			return nil, err
		}
		if err := p.images.ForgetImage(ctx, image.ID); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// chooseFlavors finds the flavors of the VIM for a VNF of the shape that wanted computes. Its output are the ids by VDU, which
// later operations keep to.
func (p *planner) chooseFlavors(wanted wantedShape) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		of, flavour, csar, err := p.sources(ctx, run, wanted)
		if err != nil {
			return Result{}, err
		}
		defer csar.Close()
		chosen, err := p.driver.ChooseFlavors(ctx, run.Deployment.Vim, PlanRequest{
			InstanceID: run.Instance.ID, Package: csar.CSAR, Flavour: flavour, Request: of.request, Assets: of.assets,
		})
		if err != nil {
			return Result{}, err
		}
		return Done(chosen), nil
	}
}
