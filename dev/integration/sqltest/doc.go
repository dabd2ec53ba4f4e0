// Package sqltest gives tests SQL databases: PostgreSQL and MariaDB servers of
// their own, as package servertest starts them, and SQLite in a file. Only tests
// import it.
package sqltest
