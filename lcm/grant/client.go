// Package grant asks an NFVO for permission of lifecycle operations: the consumer of the VNF lifecycle operation granting interface,
// SOL003 v2.6.1 clause 9.
//
//	client, err := options.Source() // nil if no NFVO is configured
//	answer, err := client.Request(ctx, request)
//	for answer.Grant == nil && err == nil {
//		answer, err = client.Poll(ctx, answer.Location) // some time later
//	}
package grant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// Version is the version of the granting interface that is spoken, SOL013 9.
const Version = "1.2.0"

// maxAnswerBytes bounds what is read of an answer: a grant of thousands of resources is smaller.
const maxAnswerBytes = 4 << 20

// Client implements [lcm.GrantSource] with an NFVO's interface. It is safe for concurrent use.
type Client struct {
	grants  *url.URL // the collection
	timeout time.Duration
	http    *http.Client
	login   peer.Login
}

// Request implements [lcm.GrantSource]: POST to the collection. If the answer gets lost, or the process dies before it is stored, the
// request is sent again, and the interface has no key by which a repeated POST is recognised as such. But every request for an operation
// carries the same vnfLcmOpOccId and the same resource definition ids, so that the NFVO can answer with the grant that it has made.
func (c *Client) Request(ctx context.Context, request *lcm.GrantRequest) (lcm.GrantAnswer, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return lcm.GrantAnswer{}, fmt.Errorf("write grant request: %w", err)
	}
	answer, err := c.call(ctx, http.MethodPost, c.grants, body)
	if err != nil {
		return lcm.GrantAnswer{}, err
	}
	switch answer.status {
	case http.StatusCreated, http.StatusOK:
		return c.granted(answer)
	case http.StatusAccepted:
		location, err := c.location(answer)
		return lcm.GrantAnswer{Location: location}, err
	default:
		return lcm.GrantAnswer{}, c.refusal(answer)
	}
}

// Poll implements [lcm.GrantSource]: GET of the individual grant.
func (c *Client) Poll(ctx context.Context, location string) (lcm.GrantAnswer, error) {
	target, err := c.resolve(location)
	if err != nil {
		return lcm.GrantAnswer{}, err
	}
	answer, err := c.call(ctx, http.MethodGet, target, nil)
	if err != nil {
		return lcm.GrantAnswer{}, err
	}
	switch answer.status {
	case http.StatusOK:
		return c.granted(answer)
	case http.StatusAccepted:
		return lcm.GrantAnswer{Location: location}, nil
	default:
		return lcm.GrantAnswer{}, c.refusal(answer)
	}
}

// answer is what the NFVO has answered.
type answer struct {
	status   int
	location string
	body     []byte
}

// call sends a request.
func (c *Client) call(ctx context.Context, method string, target *url.URL, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask NFVO: %w", err)
	}
	request.Header.Set("Accept", "application/json, application/problem+json")
	request.Header.Set("Version", Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := peer.Do(c.http, c.login, request)
	if err != nil {
		return nil, c.unanswered(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return nil, &lcm.Unavailable{Peer: c.peer(), Err: peer.Cause(err)}
	}
	if len(content) > maxAnswerBytes {
		return nil, bad("its answer is larger than %d bytes", maxAnswerBytes)
	}
	return &answer{response.StatusCode, response.Header.Get("Location"), content}, nil
}

func (c *Client) peer() string { return "NFVO at " + c.grants.String() }

// unanswered is the error for a request that got no answer.
func (c *Client) unanswered(err error) error {
	var token *peer.TokenError
	switch {
	case !errors.As(err, &token):
		return &lcm.Unavailable{Peer: c.peer(), Err: peer.Cause(err)}
	case token.Temporary():
		return &lcm.Unavailable{Peer: "OAuth2 token endpoint " + token.Endpoint, Err: token.Err}
	}
	return &lcm.Failure{Title: "No access to the NFVO", Status: http.StatusBadGateway, Detail: token.Error()}
}

// bad says that an answer of the NFVO cannot be understood.
func bad(format string, args ...any) error {
	return &lcm.Failure{Title: "Wrong answer from the NFVO", Status: http.StatusBadGateway,
		Detail: "the NFVO does not answer as the granting interface says: " + fmt.Sprintf(format, args...)}
}

// granted reads the grant of an answer.
func (c *Client) granted(answer *answer) (lcm.GrantAnswer, error) {
	grant := &lcm.Grant{}
	if err := json.Unmarshal(answer.body, grant); err != nil {
		// The decoder's error quotes what it has found, and a grant can hold credentials.
		return lcm.GrantAnswer{}, bad("status %d comes with a body that is no Grant", answer.status)
	}
	if grant.ID == "" {
		return lcm.GrantAnswer{}, bad("the Grant has no id")
	}
	// Where the standard has it, whatever the link says: clients of ours may follow it.
	grant.Links.Self.Href = c.grants.JoinPath(url.PathEscape(grant.ID)).String()
	return lcm.GrantAnswer{Grant: grant}, nil
}

// location is where the grant will be found.
func (c *Client) location(answer *answer) (string, error) {
	if answer.location == "" {
		return "", bad("status %d comes without a Location", answer.status)
	}
	target, err := c.resolve(answer.location)
	if err != nil {
		return "", err
	}
	return target.String(), nil
}

// resolve makes a reference of the NFVO absolute. One that leads to another server is not followed: it would get our credentials.
func (c *Client) resolve(reference string) (*url.URL, error) {
	target, err := c.grants.Parse(reference)
	if err != nil || target.Scheme != c.grants.Scheme || target.Host != c.grants.Host || target.User != nil {
		return nil, bad("its Location %q is not on %s://%s", reference, c.grants.Scheme, c.grants.Host)
	}
	return target, nil
}

// refusal is the error for an answer that brings no grant: trouble that may pass, or the NFVO's no in its own words.
func (c *Client) refusal(answer *answer) error {
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(answer.body, &problem) // without a problem document the status has to do
	status := fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status))
	switch {
	case peer.Temporary(answer.status):
		return &lcm.Unavailable{Peer: c.peer(), Err: errors.New(cmp.Or(shortened(problem.Detail), status))}
	case answer.status >= http.StatusBadRequest:
		return &lcm.Failure{Title: cmp.Or(shortened(problem.Title), "Grant refused"), Status: answer.status,
			Detail: "the NFVO refuses the grant: " + cmp.Or(shortened(problem.Detail), status)}
	default:
		return bad("status %s is none of those it has", status)
	}
}

// shortened bounds a text that is stored and shown with the operation.
func shortened(text string) string {
	const most = 2000
	if characters := []rune(text); len(characters) > most {
		return string(characters[:most]) + "…"
	}
	return text
}
