// Package sqlfence is the guard of a SQL database: check and write are one
// transaction. It uses database/sql only, with the driver you have, for
// PostgreSQL, MySQL, MariaDB and SQLite.
//
//	err := sqlfence.Do(ctx, db, run, func(tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = ...")
//		return err
//	})
//
// Create its table once, with [CreateTable] or with what [Schema] returns in a
// migration. It has one row per resource.
//
// # How it works
//
// The first statement of the transaction raises the resource's row to the token
// unless it holds a larger one. That locks the row until the transaction ends,
// so whoever writes with another token meanwhile waits, and is then compared
// with what was committed. That holds at every isolation level from READ
// COMMITTED up; at REPEATABLE READ and above PostgreSQL may end a waiting
// transaction with a serialization failure instead, as it does anyway there. A
// transaction that is rolled back takes the token back as well: nothing of it
// was seen.
//
// Only what fn does with its tx is guarded. A write on another connection, or
// to another system, is not.
//
// # A holder that freezes inside its transaction
//
// keeps the row locked, and with it the next holder waiting, until the database
// ends its session. Nothing stale is written then either, but bound the wait:
// idle_in_transaction_session_timeout in PostgreSQL, innodb_lock_wait_timeout
// in MySQL and MariaDB (50 s by default), busy_timeout in SQLite (none by
// default: set it, or a second writer fails at once).
package sqlfence
