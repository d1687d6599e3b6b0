package notify

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"vnfm/api/peer"
	"vnfm/lcm"
)

const (
	// version is the version of the interfaces whose notifications are sent (SOL013 9.1).
	version = "1.3.0"
	// maxAnswerBytes bounds what is read of a consumer's answer.
	maxAnswerBytes = 64 << 10
)

// chains groups deliveries by resource, each group in the order of the events.
func chains(deliveries []Delivery) [][]Delivery {
	var all [][]Delivery
	place := map[uuid.UUID]int{}
	for _, delivery := range deliveries {
		at, known := place[delivery.Subject]
		if !known {
			at = len(all)
			place[delivery.Subject] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], delivery)
	}
	return all
}

// round is the sending of one batch.
type round struct {
	sender *Sender
	batch  *Batch
	login  peer.Login
	until  time.Time
	log    *slog.Logger

	mu       sync.Mutex
	done     []int64
	rejected []int64
	answered bool // something was taken or refused for good
	broken   bool // by a failure
}

// walk sends the deliveries of one resource, until one of any resource fails.
func (r *round) walk(ctx context.Context, chain []Delivery) {
	for _, delivery := range chain {
		if r.over() || ctx.Err() != nil || !r.take(ctx, delivery) {
			return
		}
	}
}

func (r *round) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken || !time.Now().Before(r.until)
}

// take sends one delivery, and reports whether the next one of the resource may go.
func (r *round) take(ctx context.Context, delivery Delivery) bool {
	if time.Since(delivery.At) > r.sender.config.Retention {
		r.log.Warn("notification given up: it could not be delivered in time", "resource", delivery.Subject, "happened", delivery.At)
		r.sender.config.Observe(Expired, 0)
		return r.finish(delivery.Seq, false)
	}
	began := time.Now()
	status, err := r.post(ctx, delivery)
	observe := func(result Result) { r.sender.config.Observe(result, time.Since(began)) }
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		observe(Troubled)
		r.log.Warn("consumer cannot be reached", "error", peer.Cause(err))
		return r.fail()
	case status/100 == 2:
		observe(Delivered)
		return r.finish(delivery.Seq, true)
	case !refusal(status):
		observe(Troubled)
		r.log.Warn("consumer takes no notifications", "status", status)
		return r.fail()
	case delivery.Rejected+1 >= maxRejected:
		observe(RefusedForGood)
		r.log.Warn("notification given up: the consumer refuses it", "status", status, "resource", delivery.Subject)
		return r.finish(delivery.Seq, true)
	}
	observe(Refused)
	r.log.Warn("consumer refuses a notification", "status", status, "resource", delivery.Subject)
	return r.fail(delivery.Seq)
}

// refusal reports whether a status says that the consumer does not want this notification, rather than that it is in trouble.
func refusal(status int) bool {
	trouble := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
	return status/100 == 4 && !slices.Contains(trouble, status)
}

// finish notes that a delivery is over, by an answer of the consumer or by its age.
func (r *round) finish(seq int64, answered bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, seq)
	r.answered = r.answered || answered
	return true
}

// fail ends the round; rejected is the delivery that the consumer has refused, if it was that.
func (r *round) fail(rejected ...int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected = append(r.rejected, rejected...)
	r.broken = true
	return false
}

func (r *round) outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	outcome := Outcome{Done: r.done, Rejected: r.rejected}
	if r.broken {
		outcome.Failures = r.batch.Failures + 1
		if r.answered {
			outcome.Failures = 1 // it was well in between
		}
		outcome.Pause = r.sender.backoff(outcome.Failures)
	}
	return outcome
}

// post sends one notification.
func (r *round) post(ctx context.Context, delivery Delivery) (int, error) {
	body, err := r.sender.address(r.batch.Subscription, delivery.Body)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.batch.Subscription.CallbackURI, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/problem+json")
	return call(r.sender.config.Client, r.login, request)
}

// call sends a request to a consumer and returns the status of the answer; its body is of no interest.
func call(client *http.Client, login peer.Login, request *http.Request) (int, error) {
	request.Header.Set("Version", version)
	response, err := peer.Do(client, login, request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	// Read, so that the connection can be used again, unless there is no end to it.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswerBytes)
	return response.StatusCode, nil
}

// address makes a notification of a body: whom it is for, and links that a consumer can follow from wherever it is.
func (s *Sender) address(to *Subscription, body json.RawMessage) (string, error) {
	var notification map[string]json.RawMessage
	if err := json.Unmarshal(body, &notification); err != nil {
		return "", err
	}
	id := func(attribute string) (text string) {
		_ = json.Unmarshal(notification[attribute], &text) // "" if there is none
		return text
	}
	links := map[string]lcm.Link{"subscription": {Href: s.config.APIRoot + to.Interface.Path(to.ID)}}
	for _, link := range []struct{ name, attribute, path string }{
		{"vnfInstance", "vnfInstanceId", lcm.InstancesPath},
		{"vnfLcmOpOcc", "vnfLcmOpOccId", lcm.OperationsPath},
		{"vnfPackage", "vnfPkgId", "/vnfpkgm/v1/vnf_packages/"},
	} {
		if id := id(link.attribute); id != "" {
			links[link.name] = lcm.Link{Href: s.config.APIRoot + link.path + id}
		}
	}
	for name, value := range map[string]any{"subscriptionId": to.ID, "_links": links} {
		encoded, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		notification[name] = encoded
	}
	whole, err := json.Marshal(notification)
	return string(whole), err
}
