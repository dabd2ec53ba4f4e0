// Package sqltest gives tests SQL databases: PostgreSQL and MariaDB servers of
// their own, and SQLite in a file. Only tests import it.
//
// A server listens on loopback only, lives in a directory of its own, belongs to
// an unprivileged user if the test is run by root, and ends with the test, and
// with the test binary if that is killed.
package sqltest
