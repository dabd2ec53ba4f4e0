package kv

import (
	"context"
	"io/fs"
	"path"
)

// A Migrator is a Server with tables that operators make.
type Migrator interface {
	Server
	// Migrate makes the tables, or brings them to the version of this release, and returns the steps that
	// it has made. Of several that migrate at once, one makes them.
	Migrate(ctx context.Context) ([]Migration, error)
	// Version is that of the tables, 0 if there are none.
	Version(ctx context.Context) (int, error)
	// Migrations are all steps, in order.
	Migrations() []Migration
	// Script is the SQL that brings the tables from a version, 0 for none, to that of this release.
	Script(from int) string
	// Grants is the SQL that lets a role do what a replica does, and no more.
	Grants(role string) string
}

// A Migration is a step from one version of the tables to the next.
type Migration struct {
	Version int    // from 1
	Name    string // of its file
	SQL     string
}

// MigrationsIn returns the steps in the files of the folder migrations, in the order of their names. The files are
// embedded in the program.
func MigrationsIn(files fs.FS) (list []Migration) {
	names, _ := fs.Glob(files, "migrations/*.sql") // the pattern is a good one
	for i, name := range names {
		text, _ := fs.ReadFile(files, name) // it is embedded
		list = append(list, Migration{Version: i + 1, Name: path.Base(name), SQL: string(text)})
	}
	return list
}
