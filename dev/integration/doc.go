// Package integration holds the tests that need what the main module must not
// depend on: SQL drivers and databases. It is a module of its own, which also has the program
// that writes the container image.
//
// The tests start their own servers, on loopback and in a directory that goes
// with them, and fail where the programs for that are missing.
package integration
