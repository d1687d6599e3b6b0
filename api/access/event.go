package access

import (
	"time"

	"github.com/google/uuid"
)

// Event is that a caller has asked for a change.
type Event struct {
	ID        uuid.UUID // of the request, as logs have it
	CreatedAt time.Time
	ProjectID string
	UserID    string
	UserName  string
	Address   string // of the client, or of the proxy that it came through
	Method    string
	Path      string
	Status    int           // of the answer; 0 = not known: the process has ended before
	Duration  time.Duration // until the answer; 0 = not known
}
