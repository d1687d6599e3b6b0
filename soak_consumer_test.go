package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"vnfm/server/servertest"
)

// soakConsumer takes notifications, each subscription's at a path of its own.
type soakConsumer struct {
	*httptest.Server
	mu         sync.Mutex
	all        int
	duplicates int
	seen       map[string]bool       // by path and id
	about      map[string][]soakNews // by path and what it is about, in the order of their arrival
}

// soakNews is what is read of a notification.
type soakNews struct {
	ID, NotificationType, VnfInstanceID, VnfPkgID, VnfLcmOpOccID, Operation, OperationState, ChangeType string
}

func newSoakConsumer(t *testing.T) *soakConsumer {
	t.Helper()
	s, schemas := &soakConsumer{seen: map[string]bool{}, about: map[string][]soakNews{}}, servertest.LoadNotifications(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		content, err := io.ReadAll(request.Body)
		if err != nil {
			return // the process has died
		}
		response.WriteHeader(http.StatusNoContent)
		if request.Method == http.MethodGet {
			return
		}
		schemas.Check(t, content)
		var news soakNews
		if err := json.Unmarshal(content, &news); err != nil {
			t.Error(err)
		}
		s.take(strings.TrimPrefix(request.URL.Path, "/"), news)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *soakConsumer) take(at string, news soakNews) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all++
	if s.seen[at+" "+news.ID] {
		s.duplicates++
		return
	}
	s.seen[at+" "+news.ID] = true
	about := news.VnfLcmOpOccID
	if about == "" {
		about = news.VnfInstanceID + news.VnfPkgID
	}
	s.about[at+" "+about] = append(s.about[at+" "+about], news)
}

// of are those about something, to one subscription.
func (s *soakConsumer) of(at, about string) []soakNews {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.about[at+" "+about])
}

// followedBy are the states that can come after a state of an operation; "" is its beginning.
var followedBy = map[string][]string{
	"":             {"STARTING"},
	"STARTING":     {"PROCESSING", "ROLLED_BACK"},
	"PROCESSING":   {"COMPLETED", "FAILED_TEMP"},
	"FAILED_TEMP":  {"PROCESSING", "ROLLING_BACK", "FAILED"},
	"ROLLING_BACK": {"ROLLED_BACK", "FAILED_TEMP"},
}

// missing is how many notifications about an operation in a final state lack, or are in a wrong order.
func (s *soakConsumer) missing(id, state string) (missing int) {
	last := ""
	for _, news := range s.of("everything", id) {
		if last == "" && news.Operation == "MODIFY_INFO" { // nobody has to grant that
			last = "STARTING"
		}
		if !slices.Contains(followedBy[last], news.OperationState) {
			missing++
		}
		last = news.OperationState
	}
	if last != state {
		missing++
	}
	if ends := len(s.of("ends", id)); state == "COMPLETED" && ends != 1 {
		missing++
	}
	return missing
}
