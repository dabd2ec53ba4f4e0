// Package servertest starts servers for tests: databases and what stands before them. Only
// tests import it.
//
// A server listens on loopback only, lives in a directory of its own, belongs to
// an unprivileged user if the test is run by root, and ends with the test, and
// with the test binary if that is killed.
package servertest
