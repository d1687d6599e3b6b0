package heat

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// certificateError says that a certificate is not accepted.
type certificateError struct{ err error }

// Error implements error.
func (e *certificateError) Error() string { return "its certificate is not accepted: " + e.err.Error() }

// atOnce refuses what somebody has just asked for because of a certificate: he is to hear of it, and not to wait for another one.
func atOnce(err error) error {
	var unavailable *lcm.Unavailable
	var untrusted *certificateError
	if errors.As(err, &unavailable) && errors.As(err, &untrusted) {
		return &lcm.Rejected{Peer: unavailable.Peer, Status: http.StatusBadGateway, Detail: untrusted.Error()}
	}
	return err
}

// loginError says why a login failed.
func loginError(access lcm.VimAccess, err error) error {
	if gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) || gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return &lcm.Rejected{Peer: identity(access), Status: http.StatusUnauthorized,
			Detail: fmt.Sprintf("the credentials of user %q for project %q are refused", access.Username, access.Project)}
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return &lcm.Rejected{Peer: identity(access), Status: http.StatusBadGateway, Detail: "what answers there is no Keystone"}
	}
	return callError(identity(access), err)
}

// callError turns the failure of a call into *[lcm.Unavailable], if it may pass, or *[lcm.Rejected], with the service's own words. A call
// that was cancelled is neither.
func callError(service string, err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		status := fmt.Sprintf("%d %s", answer.Actual, http.StatusText(answer.Actual))
		words := explanation(answer.Body)
		if peer.Temporary(answer.Actual) {
			return &lcm.Unavailable{Peer: service, Err: errors.New(strings.TrimSuffix(status+": "+words, ": "))}
		}
		refusal := &lcm.Rejected{Peer: service, Status: answer.Actual, Detail: cmp.Or(words, "it answers "+status+" without a reason")}
		if answer.Actual < http.StatusBadRequest { // a redirection, or the page of something else
			refusal.Status = http.StatusBadGateway
		}
		return refusal
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var denied *peer.DeniedError
	if errors.As(err, &denied) {
		return &lcm.Rejected{Peer: service, Status: http.StatusForbidden, Detail: denied.Error()}
	}
	var plaintext *plaintextError
	if errors.As(err, &plaintext) {
		return &lcm.Rejected{Peer: service, Status: http.StatusBadGateway, Detail: plaintext.Error()}
	}
	// In the middle of an operation it may pass: a proxy that has just been reloaded, a clock that is off.
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return &lcm.Unavailable{Peer: service, Err: &certificateError{untrusted.Err}}
	}
	// What net/http says of a connection holds the address and the reason, and no secret.
	var connection *url.Error
	if errors.As(err, &connection) {
		err = connection.Err
	}
	return &lcm.Unavailable{Peer: service, Err: err}
}

// explanation finds the words for a person in the body of an error, whose form differs from service to service; "" if there are none,
// as in the HTML of a proxy.
func explanation(body []byte) string {
	var answer struct {
		Explanation string `json:"explanation"`
		Message     string `json:"message"` // Glance's, with HTML at its end
		Error       struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil {
		message, _, _ := strings.Cut(answer.Message, "<br")
		return lcm.Legible(cmp.Or(strings.TrimSpace(answer.Error.Message), strings.TrimSpace(answer.Explanation), strings.TrimSpace(message)))
	}
	return ""
}
