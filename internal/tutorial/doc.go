// Package tutorial runs the blocks of docs/tutorial.md as written. Everything is in its tests.
//
// One shell runs the blocks in one folder, in order. There is one addition: as nothing is
// released yet, go.mod gets a replace directive that points to this checkout. The page takes the
// address of PostgreSQL from DATABASE_URL.
//
// With -short no server is needed: only the go commands run, which build each version of the program
// and run its test in virtual time.
package tutorial
