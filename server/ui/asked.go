package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/lcm"
	"vnfm/vnfpkg/filter"
)

const (
	seenParameter  = "seen"
	afterParameter = "after"
	stateParameter = "state"
)

// asked is what somebody wants to see of a page.
type asked struct {
	id    uuid.UUID
	after lcm.Cursor // the row before; the zero value: from the newest on
	state string     // "": any
}

// underWay stands for all states in which an operation is carried out.
const underWay = "UNDER_WAY"

// statesOf are the states of which something is true.
func statesOf(is func(lcm.OperationState) bool) []string {
	var found []string
	for _, state := range lcm.OperationStates() {
		if is(state) {
			found = append(found, string(state))
		}
	}
	return found
}

// asked reads what is asked of a page, and leaves out what the page does not know: views are told apart by it.
func (p page) asked(c echo.Context) (found asked, err error) {
	if names := c.ParamNames(); len(names) > 0 {
		if found.id, err = idOf(c, names[0], p.resource()); err != nil {
			return asked{}, err
		}
	}
	if p.asks&asksFrom != 0 {
		if found.after, err = parseCursor(c.QueryParam(afterParameter)); err != nil {
			return asked{}, err
		}
	}
	if p.asks&asksState != 0 {
		found.state = c.QueryParam(stateParameter)
		if found.state != "" && found.state != underWay && !slices.Contains(lcm.OperationStates(), lcm.OperationState(found.state)) {
			return asked{}, echo.ErrNotFound
		}
	}
	return found, nil
}

// idOf is an identifier in the path. What is not a UUID cannot exist.
func idOf(c echo.Context, name, resource string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil {
		return uuid.Nil, &lcm.NotFound{Resource: resource, ID: c.Param(name)}
	}
	return id, nil
}

// resource is what the errors of the API call what the page shows one of.
func (p page) resource() string {
	if p.action == readOperations {
		return operationResource
	}
	return instanceResource
}

// query is what is asked of a page as its address has it.
func (a asked) query() url.Values {
	found := url.Values{}
	if a.after != (lcm.Cursor{}) {
		found.Set(afterParameter, formatCursor(a.after))
	}
	if a.state != "" {
		found.Set(stateParameter, a.state)
	}
	return found
}

// where are the conditions on operations.
func (a asked) where() []filter.Condition {
	switch a.state {
	case "":
		return nil
	case underWay:
		return []filter.Condition{equals("operationState", statesOf(lcm.OperationState.Transient)...)}
	default:
		return []filter.Condition{equals("operationState", a.state)}
	}
}

// parseCursor reads from which row on a list is wanted: the time and the id of the one before.
func parseCursor(after string) (lcm.Cursor, error) {
	if after == "" {
		return lcm.Cursor{}, nil
	}
	at, id, _ := strings.Cut(after, ".")
	createdAt, timeErr := strconv.ParseInt(at, 10, 64)
	parsed, idErr := uuid.Parse(id)
	if timeErr != nil || idErr != nil {
		return lcm.Cursor{}, echo.ErrNotFound
	}
	return lcm.Cursor{CreatedAt: createdAt, ID: parsed}, nil
}

func formatCursor(c lcm.Cursor) string { return fmt.Sprintf("%d.%s", c.CreatedAt, c.ID) }
