package vnfpkg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/api/peer"
)

// NFVOOptions are the command-line options that say where an NFVO has its VNF packages.
type NFVOOptions struct {
	URL         string `env:"VNFM_NFVO_PACKAGES_URL" placeholder:"URL" help:"NFVO from which the packages of unknown VNFDs are fetched: the complete address of its VNF packages, such as https://nfvo/vnfpkgm/v1/vnf_packages. Default: none."`
	peer.Access `embed:"" envprefix:"VNFM_NFVO_PACKAGES_"`
}

const nfvoPrefix = "--nfvo-packages-"

// NFVO returns the NFVO that the options name, nil if they name none. Errors are sentences with the name of the option.
func (o *NFVOOptions) NFVO() (*NFVO, error) {
	if o.URL == "" {
		if alone := o.Given(nfvoPrefix); alone != "" {
			return nil, fmt.Errorf("%s goes with %surl (VNFM_NFVO_PACKAGES_URL) only", alone, nfvoPrefix)
		}
		return nil, nil
	}
	packages, client, login, err := o.Client(nfvoPrefix, o.URL, answerTime)
	if err != nil {
		return nil, err
	}
	return &NFVO{packages: packages, client: client, login: login}, nil
}

// NFVO is the consumer of an NFVO's VNF package management interface (SOL003 10).
type NFVO struct {
	packages *url.URL // the collection
	client   *http.Client
	login    peer.Login
}

// Unobtainable says why the NFVO's package of a VNFD cannot be had.
type Unobtainable struct {
	Detail    string
	Temporary bool // asking again may help
}

// Error implements error.
func (e *Unobtainable) Error() string { return e.Detail }

// maxListBytes bounds what is read of the NFVO's answer to a search.
const maxListBytes = 4 << 20

// offered is a VnfPkgInfo of the NFVO, as far as it matters.
type offered struct {
	ID               string           `json:"id"`
	VnfdID           string           `json:"vnfdId"`
	OnboardingState  OnboardingState  `json:"onboardingState"`
	OperationalState OperationalState `json:"operationalState"`
}

// find returns the package that the NFVO has of a VNFD, or [ErrNotFound].
func (n *NFVO) find(ctx context.Context, vnfdID string) (*offered, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	search := *n.packages
	value := "'" + strings.ReplaceAll(vnfdID, "'", "''") + "'" // SOL013 5.2.2
	search.RawQuery = url.Values{"filter": {"(eq,vnfdId," + value + ")"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, search.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, application/problem+json")
	response, err := peer.Do(n.client, n.login, request)
	if err != nil {
		return nil, n.unavailable("%v", peer.Cause(err))
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case peer.Temporary(status):
		return nil, n.unavailable("it answers %d %s", status, http.StatusText(status))
	default:
		return nil, &Unobtainable{Detail: fmt.Sprintf("the NFVO at %s answers the search for VNFD %s with %d %s",
			n.packages.Host, vnfdID, status, http.StatusText(status))}
	}
	var found []offered
	content, err := io.ReadAll(io.LimitReader(response.Body, maxListBytes))
	if err != nil {
		return nil, n.unavailable("%v", err)
	}
	if json.Unmarshal(content, &found) != nil {
		return nil, &Unobtainable{Detail: fmt.Sprintf("the NFVO at %s does not answer the search for VNFD %s with a list of packages", n.packages.Host, vnfdID)}
	}
	for i := range found {
		if found[i].VnfdID == vnfdID && found[i].OnboardingState == Onboarded && found[i].OperationalState == Enabled {
			return &found[i], nil
		}
	}
	return nil, ErrNotFound
}

func (n *NFVO) unavailable(format string, args ...any) error {
	return &Unobtainable{Temporary: true, Detail: fmt.Sprintf("the NFVO at %s cannot be reached: ", n.packages.Host) + fmt.Sprintf(format, args...)}
}

// source is where the content of one of its packages is.
func (n *NFVO) source(pkg *offered) *Source {
	return &Source{URL: n.packages.JoinPath(url.PathEscape(pkg.ID), "package_content").String(), NFVO: true}
}

// id is the identifier that the package of an NFVO gets here: the same, so that both mean the same by it, and whoever fetches it at the
// same time finds that it is being fetched.
func (p *offered) id(project string) uuid.UUID {
	id, err := uuid.Parse(p.ID)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.ID))
	}
	if project != "" { // each has its own
		id = uuid.NewSHA1(id, []byte(project))
	}
	return id
}

// Obtain sees to it that the package of a VNFD is onboarded: one that this server does not have is fetched from the NFVO. It waits for
// that until ctx ends; the fetching goes on then. [ErrNotFound] if nobody has it, *[Unobtainable] if it cannot be had.
func (r *Registry) Obtain(ctx context.Context, vnfdID string) error {
	if _, err := r.store.PackageOfVnfd(ctx, vnfdID); err == nil || !errors.Is(err, ErrNotFound) || r.downloads.NFVO == nil {
		return err
	}
	found, err := r.downloads.NFVO.find(ctx, vnfdID)
	if err != nil {
		return err
	}
	id := found.id(access.Project(ctx))
	if _, err := r.store.Package(ctx, id); errors.Is(err, ErrNotFound) {
		if err := r.store.CreatePackage(ctx, newPackage(id, nil)); err != nil {
			if _, again := r.store.Package(ctx, id); again != nil { // else somebody else has just made it
				return err
			}
		}
	} else if err != nil {
		return err
	}
	var underWay *Conflict
	if err := r.UploadFrom(ctx, id, r.downloads.NFVO.source(found)); err != nil && !errors.As(err, &underWay) {
		return err
	}
	return r.await(ctx, id, vnfdID)
}

// await waits for the end of an onboarding.
func (r *Registry) await(ctx context.Context, id uuid.UUID, vnfdID string) error {
	const poll = 200 * time.Millisecond
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		pkg, err := r.store.Package(ctx, id)
		switch {
		case ctx.Err() != nil:
			return &Unobtainable{Temporary: true, Detail: fmt.Sprintf("VNF package %s is being fetched from the NFVO; ask again later", id)}
		case err != nil:
			return err
		case pkg.OnboardingState == Onboarded && pkg.Description.VnfdID != vnfdID:
			return &Unobtainable{Detail: fmt.Sprintf("VNF package %s of the NFVO has the VNFD %s, not %s", id, pkg.Description.VnfdID, vnfdID)}
		case pkg.OnboardingState == Onboarded:
			return nil
		case pkg.OnboardingState == Created:
			detail := "it was removed"
			if pkg.Failure != nil {
				detail = pkg.Failure.Detail
			}
			return &Unobtainable{Detail: fmt.Sprintf("VNF package %s of the NFVO could not be onboarded: %s", id, detail)}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
