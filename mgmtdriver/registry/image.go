package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// transferImage puts the image from the package on the VM.
func (s *site) transferImage(ctx context.Context) (mgmtdriver.Result, error) {
	if s.imagePath == "" {
		return mgmtdriver.Done(nil), nil
	}
	m, err := s.machine()
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	var state struct {
		Digest ssh.Digest `json:"digest"` // computed once; if it is lost, once more
	}
	if s.call.State != nil && json.Unmarshal(s.call.State, &state) != nil {
		state.Digest = ssh.Digest{}
	}
	err = s.host.Put(ctx, ssh.File{
		Path: m.archivePath(), Content: ssh.PackageFile(s.call.Package, s.imagePath), Digest: state.Digest, Time: s.driver.config.PutTime,
	})
	var incomplete *ssh.Incomplete
	if errors.As(err, &incomplete) {
		state.Digest = incomplete.Digest
		return mgmtdriver.Wait(fmt.Sprintf("transfer %s: %d of %d MB", s.imagePath, incomplete.Sent/1e6, incomplete.Digest.Size/1e6)).With(state), nil
	}
	return mgmtdriver.Done(nil), err
}

// haveImage has Docker load the image from the package, or pull it unless the VM has it already.
func (s *site) haveImage(ctx context.Context) (mgmtdriver.Result, error) {
	m, err := s.machine()
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	job, what := ssh.Job{ID: ssh.JobID(s.call, "image"), Argv: []string{"docker", "load", "--input", m.archivePath()}}, "load the image"
	if s.imagePath == "" {
		job.Argv, what = []string{"docker", "pull", image}, "pull the image"
		id, err := s.imageID(ctx)
		if err != nil || id != "" {
			return mgmtdriver.Done(nil), err
		}
	}
	result, err := s.drive(ctx, job, what)
	if err != nil || result.Again {
		return result, s.noImage(err)
	}
	id, err := s.imageID(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if id == "" {
		return mgmtdriver.Result{}, s.otherImage(ctx, &job)
	}
	if s.imagePath != "" { // it takes as much room as the image
		if _, err := s.host.Run(ctx, ssh.Command{Argv: []string{"rm", "-f", m.archivePath()}}); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	return mgmtdriver.Done(nil), nil
}

// noImage says in the error of a job where the image was to come from.
func (s *site) noImage(err error) error {
	if !errors.As(err, new(*mgmtdriver.Failure)) {
		return err
	}
	from := "cannot be pulled: if the VM cannot reach Docker Hub, also not through a proxy, put the image into the VNF package (image_path)"
	if s.imagePath != "" {
		from = fmt.Sprintf("cannot be loaded from %s of the VNF package", s.imagePath)
	}
	return &mgmtdriver.Failure{Title: "Image cannot be used", Status: http.StatusBadGateway, Detail: fmt.Sprintf(
		"Failed to pull or load the Docker image named registry: it %s: %v", from, err)}
}

// otherImage is the failure of an archive that was loaded and has not brought the image. The job is forgotten, so that a retry loads
// once more.
func (s *site) otherImage(ctx context.Context, job *ssh.Job) error {
	job.Root = true
	progress, err := s.host.Poll(ctx, *job)
	if err == nil {
		err = s.host.Clean(ctx, *job)
	}
	if err != nil {
		return err
	}
	var loaded []string
	for line := range strings.Lines(progress.Stdout) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Loaded image"); ok {
			loaded = append(loaded, strings.TrimLeft(name, ": "))
		}
	}
	return s.failure("Failed to pull or load the Docker image named registry: there is no %s; Docker says that it has loaded %s", image, shown(loaded))
}

// imageID is the id of the image; "" if Docker does not have it.
func (s *site) imageID(ctx context.Context) (string, error) {
	output, err := s.docker(ctx, "image", "ls", "--quiet", "--no-trunc", image)
	return strings.TrimSpace(output), err
}

// docker runs a command of Docker, and returns what it writes.
func (s *site) docker(ctx context.Context, words ...string) (string, error) {
	output, err := s.host.Run(ctx, ssh.Command{Argv: append([]string{"docker"}, words...), Root: true})
	if errors.As(err, new(*ssh.ExitError)) {
		err = &mgmtdriver.Failure{Title: "Docker has failed", Detail: err.Error()}
	}
	return output.Stdout, err
}

// exited reports whether a command has come to its end, be it a good or a bad one.
func exited(err error) bool { return err == nil || errors.As(err, new(*ssh.ExitError)) }
