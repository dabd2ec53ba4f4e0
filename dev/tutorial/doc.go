// Package tutorial runs the blocks of docs/tutorial.md, and those of the first job in the README,
// as written. Everything is in its tests.
//
// One shell runs the blocks of a page in one folder, in order. Those in a box are for another database,
// and a second run takes them in place of the block before each. There is one addition to the
// tutorial: as nothing is released yet, go.mod gets replace directives that point to this
// checkout. The tutorial takes the address of the database from the environment, and the README that
// of the checkout from CLONE.
//
// With -short no server is needed: of the tutorial only the go commands run, which build each
// version of the program and run its test in virtual time.
package tutorial
