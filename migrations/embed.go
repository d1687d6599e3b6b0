// Package migrations holds the schema of the database as golang-migrate files, one idea each, never edited once released.
package migrations

import "embed"

// Files are the migrations, NNNN_words.up.sql and .down.sql.
//
//go:embed *.sql
var Files embed.FS
