package store

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Away reports whether err says that the database cannot be reached, is stopping or starting, or does not answer in time: it may
// pass by itself.
func Away(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		// Connection exceptions, too many connections and the like, a server that shuts down or starts up.
		for _, class := range []string{"08", "53", "57P"} {
			if strings.HasPrefix(answer.Code, class) {
				return true
			}
		}
		return false
	}
	// A deadline that is over is a net.Error, too.
	return errors.As(err, new(net.Error)) || errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
