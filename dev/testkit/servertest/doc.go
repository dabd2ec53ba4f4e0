// Package servertest starts servers for tests: databases and what stands before them. Only
// tests import it.
//
// A server listens on loopback only, and lives in a directory of its own. It belongs to an
// unprivileged user if root runs the test. It ends with the test, and with the test binary
// if that is killed.
package servertest
