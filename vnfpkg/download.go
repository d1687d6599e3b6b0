package vnfpkg

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vnfm/api/peer"
)

// Downloads says how content is fetched from elsewhere. The zero value of each field means its default.
type Downloads struct {
	Policy   peer.Policy   // which addresses may be called
	Patience time.Duration // with a server that sends nothing; default 1 minute
	Pause    time.Duration // before a connection that was cut is made again, doubled each time; default 1 second
	NFVO     *NFVO         // that has the packages which this server lacks; nil: none

	client *http.Client // obeys the policy and takes redirects for answers
}

const (
	answerTime     = 30 * time.Second // for the beginning of an answer
	maxConnections = 6                // that break and bring next to nothing, one after the other
	maxRedirects   = 5
)

func (d Downloads) withDefaults() Downloads {
	d.client = d.Policy.Client(&tls.Config{MinVersion: tls.VersionTLS12}, answerTime)
	d.Patience = cmp.Or(d.Patience, time.Minute)
	d.Pause = cmp.Or(d.Pause, time.Second)
	return d
}

// DownloadError tells why content could not be fetched. It names the server, but not the path there, which may be a secret.
type DownloadError struct {
	Status    int    // of a problem document
	Detail    string // for the client
	temporary bool
}

// Error implements error.
func (e *DownloadError) Error() string { return e.Detail }

// leastBytes is what has to come within the time that there is patience with a server.
const leastBytes = 64 << 10

var errSilent = errors.New("nothing, or next to nothing, came for a while")

// download reads content from a server. A connection that is cut is made again and goes on where it was, provided that the server says
// that the content is still the same.
type download struct {
	ctx     context.Context //nolint:containedctx // io.Reader has no other way to it
	how     Downloads
	client  *http.Client
	login   peer.Login
	address *url.URL
	limit   int64

	body      io.ReadCloser // of the answer; nil: none
	due       time.Time     // at which the next leastBytes must be there; zero: from the next reading on
	came      int           // of those
	cut       context.CancelCauseFunc
	offset    int64  // of the next byte that is to be handed on
	skip      int64  // bytes of the answer before that
	total     int64  // bytes of all content; negative: not known
	validator string // of the content; "" = none
	tried     int    // connections that broke since there was news
	news      int    // bytes since then
}

// newDownload returns a reader of the content at an address, of which more than limit bytes are refused. It must be closed. Its errors are
// *[DownloadError] where the server is to blame.
func newDownload(ctx context.Context, how Downloads, source *Source, limit int64) (*download, error) {
	address, err := url.Parse(source.URL)
	if err != nil {
		return nil, &DownloadError{Status: http.StatusBadGateway, Detail: "the address of the content is not a URL"}
	}
	client, login, err := source.access(how)
	if err != nil {
		return nil, err
	}
	return &download{ctx: ctx, how: how, client: client, login: login, address: address, limit: limit, total: -1}, nil
}

// Close implements [io.Closer].
func (d *download) Close() error {
	if d.body == nil {
		return nil
	}
	d.cut(nil)
	err := d.body.Close()
	d.body = nil
	return err
}

// Read implements [io.Reader].
func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.readOnce(p)
		switch {
		case n > 0:
			if d.news += n; d.news >= leastBytes {
				d.tried, d.news = 0, 0
			}
			return n, nil
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		}
		if err := d.again(errors.Join(err, d.Close())); err != nil {
			return 0, err
		}
	}
}

// readOnce reads from one connection. io.EOF is the end of the content.
func (d *download) readOnce(p []byte) (int, error) {
	if d.body == nil {
		if err := d.connect(); err != nil {
			return 0, err
		}
	}
	// A server that sends nothing, or next to nothing, holds a connection to the database.
	if now := time.Now(); d.came >= leastBytes || now.After(d.due) { // also when it was us who took that long
		d.due, d.came = now.Add(d.how.Patience), 0
	}
	impatience := time.AfterFunc(time.Until(d.due), func() { d.cut(errSilent) })
	n, err := d.body.Read(p)
	impatience.Stop()
	d.came += n
	if skipped := min(d.skip, int64(n)); skipped > 0 {
		n = copy(p, p[skipped:n])
		d.skip -= skipped
	}
	d.offset += int64(n)
	if d.offset > d.limit {
		return 0, ErrTooLarge
	}
	if errors.Is(err, io.EOF) && d.total >= 0 && d.offset < d.total {
		err = io.ErrUnexpectedEOF
	}
	if n > 0 {
		return n, nil // the error comes again
	}
	return 0, err
}

// again waits before the next connection, or says why there is none.
func (d *download) again(err error) error {
	var failure *DownloadError
	switch {
	case errors.Is(d.ctx.Err(), context.DeadlineExceeded):
		return d.failure(http.StatusGatewayTimeout, false, "it took too long, after %d bytes it was given up", d.offset)
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case errors.Is(err, ErrTooLarge):
		return err
	case errors.As(err, &failure):
	default:
		failure = d.failure(http.StatusBadGateway, true, "the connection broke after %d bytes: %v", d.offset, peer.Cause(err))
	}
	if d.tried++; !failure.temporary || d.tried >= maxConnections {
		return failure
	}
	pause := time.NewTimer(d.how.Pause << (d.tried - 1))
	defer pause.Stop()
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-pause.C:
		return nil
	}
}

func (d *download) failure(status int, temporary bool, format string, args ...any) *DownloadError {
	return &DownloadError{status, "download from " + d.address.Host + ": " + fmt.Sprintf(format, args...), temporary}
}

// connect asks for the content, or for the rest of it.
func (d *download) connect() error {
	ctx, cut := context.WithCancelCause(d.ctx)
	response, err := d.follow(ctx)
	if err == nil {
		if err = d.accept(response); err == nil {
			d.body, d.cut, d.due = response.Body, cut, time.Time{}
			return nil
		}
		response.Body.Close()
	}
	cut(nil)
	return err
}

// follow sends the request, and sends it on where it is redirected to: elsewhere without the login.
func (d *download) follow(ctx context.Context) (*http.Response, error) {
	address, login := d.address, d.login
	for range maxRedirects + 1 {
		response, err := d.ask(ctx, address, login)
		if err != nil {
			return nil, err
		}
		location := response.Header.Get("Location")
		if response.StatusCode < 300 || response.StatusCode > 399 || location == "" {
			return response, nil
		}
		response.Body.Close()
		next, err := address.Parse(location)
		if err != nil || (next.Scheme != "http" && next.Scheme != "https") || (address.Scheme == "https" && next.Scheme != "https") {
			return nil, d.failure(http.StatusBadGateway, false, "it redirects to an address that is not followed")
		}
		next.User = nil
		if next.Host != address.Host || next.Scheme != address.Scheme {
			login = peer.Anonymous
		}
		address = next
	}
	return nil, d.failure(http.StatusBadGateway, false, "it redirects more than %d times", maxRedirects)
}

func (d *download) ask(ctx context.Context, address *url.URL, login peer.Login) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, d.failure(http.StatusBadGateway, false, "the address cannot be asked for")
	}
	// What Go decompresses on its way could not be asked for from an offset on.
	request.Header.Set("Accept-Encoding", "identity")
	if d.offset > 0 && d.validator != "" {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.offset))
		request.Header.Set("If-Range", d.validator)
	}
	response, err := peer.Do(d.client, login, request)
	var denied *peer.DeniedError
	var token *peer.TokenError
	switch {
	case err == nil:
		return response, nil
	case errors.As(err, &denied):
		return nil, d.failure(http.StatusForbidden, false, "%v", denied)
	case errors.As(err, &token):
		return nil, d.failure(http.StatusBadGateway, token.Temporary(), "its token endpoint gives no token: %v", token.Err)
	}
	return nil, d.failure(http.StatusBadGateway, true, "%v", peer.Cause(err))
}

// accept looks at the beginning of an answer.
func (d *download) accept(response *http.Response) error {
	status, validator := response.StatusCode, validatorOf(response)
	part := status == http.StatusPartialContent
	// A part is sent only if If-Range holds, and may leave out what that has said.
	same := d.validator != "" && (validator == d.validator || validator == "" && part)
	switch {
	case status == http.StatusOK && d.offset == 0:
		d.total, d.validator = response.ContentLength, validator
		if d.total > d.limit {
			return fmt.Errorf("%w: %d bytes, more than %d", ErrTooLarge, d.total, d.limit)
		}
	case d.offset > 0 && (status == http.StatusOK || part) && !same:
		return d.failure(http.StatusBadGateway, false,
			"the connection broke after %d bytes, and the server does not say that the content is still the same", d.offset)
	case status == http.StatusOK: // the server knows no ranges
		d.skip = d.offset
	case part && d.offset > 0 && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.offset)):
		d.skip = 0
	default:
		return d.failure(http.StatusBadGateway, peer.Temporary(status), "it answers %d %s", status, http.StatusText(status))
	}
	return nil
}

// validatorOf is what tells content from other content that is at the same address later (RFC 9110 13.1.5).
func validatorOf(response *http.Response) string {
	if tag := response.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return response.Header.Get("Last-Modified")
}
