package server

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/lcm"
	"vnfm/vnfpkg/filter"
)

// Query parameters of lists, SOL013 5.2 and 5.4.
const (
	filterParameter     = "filter"
	markerParameter     = "nextpage_opaque_marker"
	allRecordsParameter = "all_records"
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

// asked is what a request wants of a list.
type asked struct {
	limit    int // 0 = everything
	after    cursor
	where    []filter.Condition
	selector selector
}

// ask reads what a request wants of a list.
func (s *Server) ask(c echo.Context, of collection) (asked, error) {
	query := c.QueryParams()
	err := checkQuery(query, filterParameter, allFieldsParameter, fieldsParameter, excludeFieldsParameter, clientExcludeParameter,
		excludeDefaultParameter, markerParameter, allRecordsParameter)
	if err != nil {
		return asked{}, err
	}
	a := asked{limit: s.config.PageSize}
	if query.Get(allRecordsParameter) == "yes" {
		a.limit = 0
	}
	if marker := query.Get(markerParameter); marker != "" {
		if a.after, err = parseMarker(marker); err != nil {
			return asked{}, err
		}
	}
	if a.where, err = of.conditions(query[filterParameter]); err != nil {
		return asked{}, err
	}
	a.selector, err = of.selectorOf(query)
	return a, err
}

func (a asked) page() lcm.Page {
	return lcm.Page{Limit: a.limit, After: lcm.Cursor{CreatedAt: a.after.createdAt, ID: a.after.id}, Where: a.where, Whole: a.selector.whole}
}

// answerList answers with a page of a list: the elements in their wire form as far as they are selected, and where the next page is.
func answerList[Element any, Wire any](c echo.Context, a asked, elements []Element, wire func(Element) Wire, more bool, last func(Element) cursor) error {
	shown := make([]any, len(elements))
	for i, element := range elements {
		var err error
		if shown[i], err = a.selector.apply(wire(element)); err != nil {
			return err
		}
	}
	if more {
		linkNext(c, last(elements[len(elements)-1]))
	}
	return c.JSON(http.StatusOK, shown)
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
