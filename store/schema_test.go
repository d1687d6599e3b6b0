package store_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"vnfm/migrations"
	"vnfm/store/storetest"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(context.WithoutCancel(t.Context())) })
	return connection
}

func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	connection := connect(t, storetest.NewURL(t))
	found := 0
	for position, statement := range statements(t) {
		found++
		sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), connection, statement, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Prepare(t.Context(), "", sql); err != nil {
			t.Errorf("%s: %v", position, err)
		}
	}
	if found < 40 {
		t.Errorf("only %d statements were found in the source", found)
	}
}

// statements returns the SQL in the source of the package, by position.
func statements(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fileset, files := token.NewFileSet(), []*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fileset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	constants := map[string]string{} // those of packages; the others are found where they are declared
	for _, file := range files {
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.CONST {
				for _, spec := range general.Specs {
					if value := spec.(*ast.ValueSpec); len(value.Values) == 1 {
						constants[value.Names[0].Name], _ = text(value.Values[0], constants) // of constants before it
					}
				}
			}
		}
	}
	found := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			expression, ok := node.(ast.Expr)
			if !ok {
				return true
			}
			statement, ok := text(expression, constants)
			if !ok || strings.Contains(statement, "$table") { // one for several tables, see sealedColumn
				return true
			}
			verb, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
			switch verb {
			case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
				found[fileset.Position(expression.Pos()).String()] = statement
			}
			return false
		})
	}
	return found
}

// text returns the value of a constant expression of strings.
func text(expression ast.Expr, constants map[string]string) (string, bool) {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(expression.Value)
		return value, err == nil && expression.Kind == token.STRING
	case *ast.Ident:
		value, ok := constants[expression.Name]
		return value, ok && value != ""
	case *ast.BinaryExpr:
		left, leftOK := text(expression.X, constants)
		right, rightOK := text(expression.Y, constants)
		return left + right, leftOK && rightOK && expression.Op == token.ADD
	case *ast.CallExpr:
		// What scope adds is no part of what it is added to.
		called, ok := expression.Fun.(*ast.Ident)
		return "", ok && (called.Name == "scope" || called.Name == "subscriptionScope")
	default:
		return "", false
	}
}

func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	before := schema(t, db.URL())
	if len(before) < 60 {
		t.Fatalf("the schema has only %d parts", len(before))
	}
	migrator := migrator(t, db.URL())
	if err := migrator.Down(); err != nil {
		t.Fatal(err)
	}
	if left := schema(t, db.URL()); len(left) != 0 {
		t.Errorf("after going down there is still %q", left)
	}
	if err := db.Ready(t.Context()); err == nil {
		t.Error("a database without a schema is ready")
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, schema(t, db.URL())); diff != "" {
		t.Error(diff)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func migrator(t *testing.T, url string) *migrate.Migrate {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	source, err := iofs.New(migrations.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := migratepgx.WithInstance(stdlib.OpenDB(*config), &migratepgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	migrator, err := migrate.NewWithInstance("iofs", source, "pgx5", driver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = migrator.Close() })
	return migrator
}

// schema describes columns, constraints and indexes, ours and those of the job queue.
func schema(t *testing.T, url string) []string {
	t.Helper()
	const query = `
		SELECT part FROM (
			SELECT format('%s.%s.%s %s %s %s', table_schema, table_name, column_name, udt_name, is_nullable, column_default) AS part,
				table_schema AS space, table_name AS name FROM information_schema.columns
			UNION ALL SELECT indexdef, schemaname, tablename FROM pg_indexes
			UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), connamespace::regnamespace::text,
				conrelid::regclass::text FROM pg_constraint) parts
		WHERE space IN ('public', 'river') AND name <> 'schema_migrations' AND part NOT LIKE '%schema_migrations%' ORDER BY part`
	rows, err := connect(t, url).Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// During an upgrade a process of the old version may be restarted after one of the new version has migrated.
func TestSchemaOfNewerVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	if _, err := connect(t, db.URL()).Exec(t.Context(), `UPDATE schema_migrations SET version = 9999`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Migrate(t.Context()), db.Ready(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := connect(t, db.URL()).Exec(t.Context(), `UPDATE schema_migrations SET dirty = true`); err != nil {
		t.Fatal(err)
	}
	if db.Migrate(t.Context()) == nil || db.Ready(t.Context()) == nil {
		t.Error("a schema whose migration has failed is taken")
	}
}
