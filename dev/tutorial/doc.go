// Package tutorial runs the blocks of docs/tutorial.md, and those of the first job in the README,
// as written. Everything is in its tests.
//
// One shell runs the blocks of a page in one folder, in order. There is one addition to the
// tutorial: as nothing is released yet, go.mod gets a replace directive that points to this
// checkout. The tutorial takes the address of PostgreSQL from DATABASE_URL, and the README that
// of the checkout from CLONE.
//
// With -short no server is needed: of the tutorial only the go commands run, which build each
// version of the program and run its test in virtual time.
package tutorial
