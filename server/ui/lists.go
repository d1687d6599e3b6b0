package ui

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/vnfpkg"
	"vnfm/vnfpkg/filter"
)

const (
	instanceResource  = "vnf instance"
	operationResource = "vnf lcm operation occurrence"
)

// list is a part of a list, and where its other parts are.
type list[Row any] struct {
	Now         time.Time
	Rows        []Row
	Newer, Next string // addresses; "": there is nothing
}

// part makes a list of rows, of which more may follow.
func part[Row any](a asked, rows []Row, more bool, last func(Row) (time.Time, uuid.UUID)) list[Row] {
	made := list[Row]{Now: time.Now(), Rows: rows}
	address := func(after lcm.Cursor) string {
		a.after = after
		return "?" + a.query().Encode()
	}
	if a.after != (lcm.Cursor{}) {
		made.Newer = address(lcm.Cursor{})
	}
	if more {
		at, id := last(rows[len(rows)-1])
		made.Next = address(lcm.Cursor{CreatedAt: at.UnixMicro(), ID: id})
	}
	return made
}

// equals is a condition on an attribute.
func equals(attribute string, values ...string) filter.Condition {
	return filter.Condition{Path: []filter.Step{{Name: attribute}}, Operator: filter.In, Values: values}
}

func (u *UI) instances(ctx context.Context, asked asked) (*content, error) {
	found, more, err := u.config.Instances.Instances(ctx, lcm.Page{Limit: u.config.PageSize, After: asked.after, Newest: true})
	if err != nil {
		return nil, err
	}
	rows := part(asked, found, more, func(i *lcm.VnfInstance) (time.Time, uuid.UUID) { return i.CreatedAt, i.ID })
	return &content{title: "Instances", shown: rows}, nil
}

func (u *UI) packages(ctx context.Context, asked asked) (*content, error) {
	found, more, err := u.config.Packages.Packages(ctx, vnfpkg.Page{Limit: u.config.PageSize, After: vnfpkg.Cursor(asked.after), Newest: true})
	if err != nil {
		return nil, err
	}
	rows := part(asked, found, more, func(p *vnfpkg.Package) (time.Time, uuid.UUID) { return p.CreatedAt, p.ID })
	return &content{title: "Packages", shown: rows}, nil
}

// vimRow is what is shown of a VIM: nothing of its credentials.
type vimRow struct {
	ID                               uuid.UUID
	Name, Description, Type, Address string
	Project, Regions, Status         string
	IsDefault                        bool
	InstanceID                       uuid.UUID
	CreatedAt                        time.Time
}

// OfInstance reports whether the VIM is a VNF instance.
func (v vimRow) OfInstance() bool { return v.InstanceID != uuid.Nil }

func (u *UI) vims(ctx context.Context, asked asked) (*content, error) {
	found, more, err := u.config.Vims.VimPage(ctx, lcm.Page{Limit: u.config.PageSize, After: asked.after, Newest: true})
	if err != nil {
		return nil, err
	}
	rows := make([]vimRow, len(found))
	for i, vim := range found {
		project, _ := vim.VimProject["name"].(string)
		rows[i] = vimRow{
			ID: vim.ID, Name: vim.Name, Description: vim.Description, Type: vim.Type, Address: withoutUser(vim.AuthURL), Project: project,
			Regions: strings.Join(vim.Regions, ", "), Status: vim.Status, IsDefault: vim.IsDefault, InstanceID: vim.InstanceID, CreatedAt: vim.CreatedAt,
		}
	}
	return &content{title: "VIMs", shown: part(asked, rows, more, func(v vimRow) (time.Time, uuid.UUID) { return v.CreatedAt, v.ID })}, nil
}

// withoutUser is an address without the login that it may hold.
func withoutUser(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}

// operationRow is an operation with the name of its VNF instance.
type operationRow struct {
	*lcm.Operation
	Name string // "" if it is not there any more, or the caller may not know it
}

// operationPage is the list of operations, and the states that it can be narrowed to.
type operationPage struct {
	list[operationRow]
	State  string
	States []lcm.OperationState
}

func (u *UI) operations(ctx context.Context, asked asked) (*content, error) {
	shown := operationPage{State: asked.state, States: lcm.OperationStates()}
	rows, more, err := u.operationRows(ctx, lcm.Page{Limit: u.config.PageSize, After: asked.after, Where: asked.where()})
	if err != nil {
		return nil, err
	}
	shown.list = part(asked, rows, more, func(o operationRow) (time.Time, uuid.UUID) { return o.StartedAt, o.ID })
	return &content{title: "Operations", shown: shown}, nil
}

// operationRows reads operations, the newest first, with what they do and the names of their instances.
func (u *UI) operationRows(ctx context.Context, page lcm.Page) ([]operationRow, bool, error) {
	page.Newest, page.Told = true, true
	found, more, err := u.config.Operations.Operations(ctx, page)
	if err != nil {
		return nil, false, err
	}
	names, err := u.names(ctx, found)
	if err != nil {
		return nil, false, err
	}
	rows := make([]operationRow, len(found))
	for i, operation := range found {
		rows[i] = operationRow{operation, names[operation.VnfInstanceID]}
	}
	return rows, more, nil
}

// names are those of the VNF instances of operations, as far as the caller may know them.
func (u *UI) names(ctx context.Context, of []*lcm.Operation) (map[uuid.UUID]string, error) {
	names := map[uuid.UUID]string{}
	reading, ok := u.may(ctx, readInstances)
	if !ok || len(of) == 0 {
		return names, nil
	}
	var ids []string
	for _, operation := range of {
		if id := operation.VnfInstanceID.String(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	found, _, err := u.config.Instances.Instances(reading, lcm.Page{Where: []filter.Condition{equals("id", ids...)}})
	if err != nil {
		return nil, err
	}
	for _, instance := range found {
		names[instance.ID] = instance.Name
	}
	return names, nil
}
