package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"vnfm/server"
)

// guess asks with a user and a password from an address, and returns the answer's status.
func (b *bench) guess(user, password, address string) *http.Response {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/vnflcm/v1/vnf_instances", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	request.SetBasicAuth(user, password)
	if address != "" {
		request.Header.Set("X-Forwarded-For", address)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	response.Body.Close()
	return response
}

// until guesses until the server has enough, and returns how many guesses were judged.
func (b *bench) until(user func(int) string, address func(int) string) int {
	b.t.Helper()
	for i := range 1000 {
		response := b.guess(user(i), "wrong"+strconv.Itoa(i), address(i))
		if response.StatusCode == http.StatusTooManyRequests {
			if after, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || after < 1 {
				b.t.Errorf("Retry-After: %q", response.Header.Get("Retry-After"))
			}
			return i
		}
		if response.StatusCode != http.StatusUnauthorized {
			b.t.Fatalf("guess %d: %s", i, response.Status)
		}
	}
	b.t.Fatal("a thousand guesses are judged")
	return 0
}

// Of guesses that come at once no more are judged than of those that come one after another, and whoever waits then is let in soon.
func TestPasswordsThatAreGuessedAtOnce(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	var judged atomic.Int64
	var group errgroup.Group
	for i := range 300 {
		group.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/vnflcm/v1/vnf_instances", nil)
			if err != nil {
				return err
			}
			request.SetBasicAuth("ann", "wrong"+strconv.Itoa(i))
			response, err := b.client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode == http.StatusUnauthorized {
				judged.Add(1)
				return nil
			}
			if after, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || after > 60 {
				return fmt.Errorf("%s, Retry-After: %q", response.Status, response.Header.Get("Retry-After"))
			}
			return nil
		})
	}
	began := time.Now()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if most := 20 + int64(time.Since(began)/(10*time.Second)) + 1; judged.Load() > most {
		t.Errorf("%d guesses were judged, at most %d may be", judged.Load(), most)
	}
}

// Many clients that begin at the same time with the same credentials, which nobody remembers, are all let in.
func TestCredentialsThatAreNewAtOnce(t *testing.T) {
	t.Parallel()
	b := guarded(t).as(t, "ann")
	var group errgroup.Group
	for range 100 {
		group.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/vnflcm/v1/vnf_instances", nil)
			if err != nil {
				return err
			}
			response, err := b.client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return errors.New(response.Status)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func always(text string) func(int) string { return func(int) string { return text } }
func other(form string) func(int) string {
	return func(i int) string { return fmt.Sprintf(form, i) }
}

func TestPasswordsThatAreGuessed(t *testing.T) {
	t.Parallel()
	t.Run("of an account, from everywhere", func(t *testing.T) {
		t.Parallel()
		b := guardedWith(t, func(config *server.Config) { config.BehindProxy = true })
		if status := b.guess("ann", "geheim", "192.0.2.200").StatusCode; status != http.StatusOK {
			t.Fatal(status)
		}
		if judged := b.until(always("ann"), other("192.0.2.%d")); judged < 20 {
			t.Errorf("%d guesses were judged", judged)
		}
		// Who has been in before stays in, from whatever address, and other accounts are not concerned.
		for user, address := range map[string]string{"ann": "192.0.2.201", "bob": "192.0.2.1"} {
			if status := b.guess(user, "geheim", address).StatusCode; status != http.StatusOK {
				t.Errorf("%s gets %d", user, status)
			}
		}
	})
	t.Run("of many accounts, from an address", func(t *testing.T) {
		t.Parallel()
		b := guardedWith(t, func(config *server.Config) { config.BehindProxy = true })
		if status := b.guess("ann", "geheim", "192.0.2.1").StatusCode; status != http.StatusOK {
			t.Fatal(status)
		}
		if judged := b.until(other("user%d"), always("192.0.2.1")); judged < 60 {
			t.Errorf("%d guesses were judged", judged)
		}
		for _, row := range []struct {
			user, address string
			status        int
		}{
			{"ann", "192.0.2.1", http.StatusOK}, {"bob", "192.0.2.2", http.StatusOK}, {"bob", "192.0.2.1", http.StatusOK},
		} {
			if status := b.guess(row.user, "geheim", row.address).StatusCode; status != row.status {
				t.Errorf("%s gets %d from %s, want %d", row.user, status, row.address, row.status)
			}
		}
	})
	t.Run("from an address that a header hides", func(t *testing.T) {
		t.Parallel()
		b := guardedWith(t, func(*server.Config) {})
		b.until(other("user%d"), other("192.0.2.%d"))
	})
	t.Run("the same mistake again and again is no guess", func(t *testing.T) {
		t.Parallel()
		b := guardedWith(t, func(*server.Config) {})
		for range 100 {
			if status := b.guess("ann", "of last year", "").StatusCode; status != http.StatusUnauthorized {
				t.Fatal(status)
			}
		}
		if status := b.guess("ann", "geheim", "").StatusCode; status != http.StatusOK {
			t.Error(status)
		}
	})
	t.Run("who says nothing does not guess", func(t *testing.T) {
		t.Parallel()
		b := guardedWith(t, func(*server.Config) {})
		for range 100 {
			b.expect(http.StatusUnauthorized, http.MethodGet, "/vnflcm/v1/vnf_instances", "")
		}
	})
}

// The audit log has the address that a proxy tells, and without one never what a header says.
func TestAuditOfAddresses(t *testing.T) {
	t.Parallel()
	for behind, want := range map[bool]string{true: "192.0.2.7", false: "127.0.0.1:"} {
		b := guardedWith(t, func(config *server.Config) { config.BehindProxy = behind })
		adam := b.as(t, "adam")
		adam.expect(http.StatusNotFound, http.MethodDelete, "/vnflcm/v1/vnf_instances/00000000-0000-4000-8000-000000000000", "",
			"X-Forwarded-For", "198.51.100.9, 192.0.2.7")
		a := adam.expect(http.StatusOK, http.MethodGet, "/audit/v1/events", "")
		if !strings.Contains(string(a.body), `"address":"`+want) {
			t.Errorf("behind a proxy %t: %s", behind, a.body)
		}
	}
}
