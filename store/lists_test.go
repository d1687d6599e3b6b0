package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/api/access"
	"vnfm/lcm"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// ids reads a list from the newest element on, page by page.
func ids[Element any](t *testing.T, list func(after lcm.Cursor) ([]Element, bool, error), of func(Element) (uuid.UUID, lcm.Cursor)) []uuid.UUID {
	t.Helper()
	var found []uuid.UUID
	var after lcm.Cursor
	for more := true; more; {
		var elements []Element
		var err error
		if elements, more, err = list(after); err != nil {
			t.Fatal(err)
		}
		for _, element := range elements {
			id, cursor := of(element)
			found, after = append(found, id), cursor
		}
	}
	return found
}

func TestListsBeginWithTheNewest(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	var instances, operations, packages []uuid.UUID
	for range 5 {
		instance := created(t, db)
		operation := started(t, db, instance)
		instances, operations, packages = append(instances, instance.ID), append(operations, operation.ID), append(packages, instance.VnfPkgID)
	}
	for name, list := range map[string]struct{ want, got []uuid.UUID }{
		"instances": {instances, ids[*lcm.VnfInstance](t, func(after lcm.Cursor) ([]*lcm.VnfInstance, bool, error) {
			return db.Instances(t.Context(), lcm.Page{Limit: 2, After: after, Newest: true})
		}, func(i *lcm.VnfInstance) (uuid.UUID, lcm.Cursor) {
			return i.ID, lcm.Cursor{CreatedAt: i.CreatedAt.UnixMicro(), ID: i.ID}
		})},
		"operations": {operations, ids[*lcm.Operation](t, func(after lcm.Cursor) ([]*lcm.Operation, bool, error) {
			return db.Operations(t.Context(), lcm.Page{Limit: 2, After: after, Newest: true})
		}, func(o *lcm.Operation) (uuid.UUID, lcm.Cursor) {
			return o.ID, lcm.Cursor{CreatedAt: o.StartedAt.UnixMicro(), ID: o.ID}
		})},
		"packages": {packages, ids[*vnfpkg.Package](t, func(after lcm.Cursor) ([]*vnfpkg.Package, bool, error) {
			return db.Packages(t.Context(), vnfpkg.Page{Limit: 2, After: vnfpkg.Cursor(after), Newest: true})
		}, func(p *vnfpkg.Package) (uuid.UUID, lcm.Cursor) {
			return p.ID, lcm.Cursor{CreatedAt: p.CreatedAt.UnixMicro(), ID: p.ID}
		})},
	} {
		slices.Reverse(list.want)
		if !slices.Equal(list.got, list.want) {
			t.Errorf("%s: %v, want %v", name, list.got, list.want)
		}
	}
}

func TestCountsAreThoseOfTheProject(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	started(t, db, created(t, db))
	created(t, db)
	for name, row := range map[string]struct {
		caller *access.Caller
		want   int
	}{
		"without a caller": {nil, 2},
		"everywhere":       {&access.Caller{Project: "p1", Everywhere: true}, 2},
		"another project":  {&access.Caller{Project: "p1"}, 0},
	} {
		ctx := access.With(t.Context(), row.caller)
		instances, err := db.CountInstances(ctx)
		if err != nil || instances[lcm.NotInstantiated] != row.want {
			t.Errorf("%s: instances %v, %v", name, instances, err)
		}
		operations, err := db.CountOperations(ctx)
		if err != nil || operations[lcm.StateStarting] != row.want/2 {
			t.Errorf("%s: operations %v, %v", name, operations, err)
		}
		packages, err := db.CountPackages(ctx)
		if err != nil || packages[vnfpkg.Onboarded] != row.want {
			t.Errorf("%s: packages %v, %v", name, packages, err)
		}
	}
}

func TestWhatListsOfOperationsHave(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	started(t, db, created(t, db))
	connection, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close(context.WithoutCancel(t.Context())) })
	if _, err := connection.Exec(t.Context(), `UPDATE vnf_lcm_op_occs SET params = '{"flavourId": "simple"}', error = '{"detail": "broken"}'`); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		page          lcm.Page
		params, error bool
	}{"by default": {lcm.Page{}, false, false}, "told": {lcm.Page{Told: true}, false, true}, "whole": {lcm.Page{Whole: true}, true, true}} {
		found, _, err := db.Operations(t.Context(), row.page)
		if err != nil || len(found) != 1 || (found[0].Params != nil) != row.params || (found[0].Error != nil) != row.error {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestVimsThatAreShown(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	for _, name := range []string{"one", "two", "three"} {
		vim := &lcm.Vim{ID: uuid.New(), Name: name, TenantID: "p1", Type: "openstack", AuthCred: map[string]any{"password": "geheim"}}
		if err := db.CreateVim(t.Context(), vim); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		project string
		want    []string
	}{"its project": {"p1", []string{"three", "two", "one"}}, "another project": {"p2", nil}} {
		ctx := access.With(t.Context(), &access.Caller{Project: row.project})
		if number, err := db.CountVims(ctx); err != nil || number != len(row.want) {
			t.Errorf("%s: %d, %v", name, number, err)
		}
		var got []string
		asked := lcm.Page{Limit: 2, Newest: true}
		for more := true; more; {
			var vims []*lcm.Vim
			var err error
			if vims, more, err = db.VimPage(ctx, asked); err != nil {
				t.Fatal(err)
			}
			for _, vim := range vims {
				got = append(got, vim.Name)
				if vim.AuthCred != nil {
					t.Errorf("%s has its credentials", vim.Name)
				}
				asked.After = lcm.Cursor{CreatedAt: vim.CreatedAt.UnixMicro(), ID: vim.ID}
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestWhatIsSealedForOutside(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	sealed := db.Seal("sessions", []byte("geheim"))
	if value, err := db.OpenSealed("sessions", sealed); err != nil || string(value) != "geheim" {
		t.Errorf("%q, %v", value, err)
	}
	changed := slices.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, row := range map[string]struct {
		place  string
		sealed []byte
	}{
		"for something else": {"others", sealed},
		"changed":            {"sessions", changed},
		"cut":                {"sessions", sealed[:len(sealed)-1]},
		"almost nothing":     {"sessions", sealed[:2]},
		"nothing":            {"sessions", []byte{}},
	} {
		if value, err := db.OpenSealed(row.place, row.sealed); err == nil {
			t.Errorf("%s: it opens to %q", name, value)
		}
	}
}
