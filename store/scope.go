package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"vnfm/api/access"
)

// scope is SQL, beginning with AND, by which a statement finds only what the caller may see: what belongs to its project. column is that of
// the project. What is asked for without a caller, by the VNF manager itself, finds everything.
func scope(ctx context.Context, column string, args pgx.NamedArgs) string {
	caller := access.Of(ctx)
	if caller == nil || caller.Everywhere {
		return ""
	}
	args["project"] = caller.Project
	return " AND " + column + " = @project"
}
