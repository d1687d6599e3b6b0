package server

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Query parameters of lists, SOL013 5.3 and 5.4.
const (
	markerParameter         = "nextpage_opaque_marker"
	allRecordsParameter     = "all_records"
	excludeDefaultParameter = "exclude_default"
)

// cursor is the last element of a page: when it was made, in microseconds since 1970, and its id.
type cursor struct {
	createdAt int64
	id        uuid.UUID
}

// marker is the form of a cursor in a link.
func (m cursor) marker() string {
	encoded := binary.BigEndian.AppendUint64(nil, uint64(m.createdAt))
	return base64.RawURLEncoding.EncodeToString(append(encoded, m.id[:]...))
}

func parseMarker(marker string) (cursor, error) {
	const timeBytes = 8
	decoded, err := base64.RawURLEncoding.DecodeString(marker)
	if err != nil || len(decoded) != timeBytes+len(uuid.UUID{}) {
		return cursor{}, badRequest(markerParameter + ": this is not a marker that a page has given")
	}
	return cursor{int64(binary.BigEndian.Uint64(decoded)), uuid.UUID(decoded[timeBytes:])}, nil
}

// pageAsked reads which page of a list a request asks for; limit 0 is everything.
func (s *Server) pageAsked(c echo.Context) (limit int, after cursor, err error) {
	query := c.QueryParams()
	if err := checkQuery(query, markerParameter, allRecordsParameter, excludeDefaultParameter); err != nil {
		return 0, cursor{}, err
	}
	if marker := query.Get(markerParameter); marker != "" {
		after, err = parseMarker(marker)
	}
	if query.Get(allRecordsParameter) == "yes" {
		return 0, after, err
	}
	return s.config.PageSize, after, err
}

// linkNext tells the client where the next page is. The rest of the query stays.
func linkNext(c echo.Context, last cursor) {
	query := url.Values{}
	for name, values := range c.QueryParams() {
		query[name] = values
	}
	query.Set(markerParameter, last.marker())
	address := url.URL{Path: c.Request().URL.Path, RawQuery: query.Encode()}
	c.Response().Header().Set("Link", "<"+address.String()+`>; rel="next"`)
}
