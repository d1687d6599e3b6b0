package heat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"vnfm/lcm"
)

// loginError says why a login failed.
func loginError(access lcm.VimAccess, err error) error {
	if gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) || gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return &lcm.Rejected{Peer: identity(access), Status: http.StatusUnauthorized,
			Detail: fmt.Sprintf("the credentials of user %q for project %q are refused", access.Username, access.Project)}
	}
	return callError(identity(access), err)
}

// callError turns the failure of a call into *[lcm.Unavailable], if it may pass, or *[lcm.Rejected], with the peer's own words.
func callError(peer string, err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		words := explanation(answer.Body)
		if answer.Actual >= http.StatusInternalServerError || answer.Actual == http.StatusTooManyRequests ||
			answer.Actual == http.StatusRequestTimeout {
			return &lcm.Unavailable{Peer: peer, Err: fmt.Errorf("%d %s: %s", answer.Actual, http.StatusText(answer.Actual), words)}
		}
		return &lcm.Rejected{Peer: peer, Status: answer.Actual, Detail: words}
	}
	var reauthentication *gophercloud.ErrUnableToReauthenticate
	var refused *gophercloud.ErrErrorAfterReauthentication
	switch {
	case errors.As(err, &reauthentication):
		return &lcm.Unavailable{Peer: peer, Err: errors.New("the token has expired and cannot be renewed")}
	case errors.As(err, &refused):
		return &lcm.Rejected{Peer: peer, Status: http.StatusUnauthorized, Detail: "a fresh token is refused"}
	case errors.Is(err, context.Canceled):
		return err
	}
	// What net/http says of a connection holds the address and the reason, and no secret.
	var connection *url.Error
	if errors.As(err, &connection) {
		err = connection.Err
	}
	return &lcm.Unavailable{Peer: peer, Err: err}
}

// maxExplanation bounds, in bytes, what of a peer's words is kept.
const maxExplanation = 4000

// explanation finds the words for a person in the body of an error, whose form differs from service to service.
func explanation(body []byte) string {
	var heat struct {
		Explanation string `json:"explanation"`
		Error       struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	words := ""
	if json.Unmarshal(body, &heat) == nil {
		words = strings.TrimSpace(heat.Error.Message)
		if words == "" {
			words = strings.TrimSpace(heat.Explanation)
		}
	}
	if words == "" {
		words = "no reason given"
	}
	return words[:min(len(words), maxExplanation)]
}
