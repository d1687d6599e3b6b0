package migrations_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"vnfm/migrations"
)

// breaking is what a server of the former version, which still runs on the same database, would trip over.
var breaking = regexp.MustCompile(`(?i)\bDROP\s+(TABLE|COLUMN|SCHEMA|VIEW|TYPE|DEFAULT)\b|\bRENAME\b|\bSET\s+NOT\s+NULL\b|\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b` +
	`|\bTRUNCATE\b|^\s*DELETE\b|\bADD\s+COLUMN\b.*\bNOT\s+NULL\b`)

// withDefault is a column that the former version need not know to insert a row.
var withDefault = regexp.MustCompile(`(?i)\bADD\s+COLUMN\b.*\bDEFAULT\b`)

// unused marks what may go, since the version before the one that is named has stopped to use it.
const unused = "-- unused since "

// TestMigrationsOnlyAdd holds the rule of docs/operations.md for rolling upgrades.
func TestMigrationsOnlyAdd(t *testing.T) {
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d migrations, %v", len(names), err)
	}
	for _, name := range names {
		content, err := migrations.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range breaks(string(content)) {
			t.Errorf("%s: %q breaks servers of the former version", name, line)
		}
	}
}

func breaks(sql string) []string {
	var lines []string
	for line := range strings.Lines(sql) {
		if strings.Contains(line, unused) {
			continue
		}
		code, _, _ := strings.Cut(line, "--")
		if breaking.MatchString(code) && !withDefault.MatchString(code) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestWhatBreaksTheFormerVersion(t *testing.T) {
	for sql, broken := range map[string]bool{
		"ALTER TABLE vims ADD COLUMN project text;":                      false,
		"ALTER TABLE vims ADD COLUMN project text NOT NULL DEFAULT 'x';": false,
		"CREATE TABLE t (id uuid NOT NULL);":                             false,
		"ALTER TABLE vims ALTER COLUMN name DROP NOT NULL;":              false,
		"ALTER TABLE vims ADD COLUMN project text NOT NULL;":             true,
		"ALTER TABLE vims DROP COLUMN name;":                             true,
		"ALTER TABLE vims DROP COLUMN name; -- unused since 1.4":         false,
		"ALTER TABLE vims\n    RENAME COLUMN name TO title;":             true,
		"ALTER TABLE vims ALTER name TYPE uuid USING name::uuid;":        true,
		"ALTER TABLE vims ALTER COLUMN name SET NOT NULL;":               true,
		"DROP TABLE vims;":  true,
		"DELETE FROM vims;": true,
		"-- DROP TABLE vims is for later\nCREATE INDEX i ON vims (name);": false,
	} {
		if found := breaks(sql); (len(found) > 0) != broken {
			t.Errorf("%s: %q", sql, found)
		}
	}
}
