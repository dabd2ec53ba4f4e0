// Package sqlfence guards data in a SQL database: check and write are one transaction.
// It uses only database/sql, with your driver, for PostgreSQL, MySQL, MariaDB and
// SQLite.
//
//	err := sqlfence.Do(ctx, db, run, func(tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = ...")
//		return err
//	})
//
// Create its table once, with [CreateTable], or in a migration with the statement of
// [Schema]. It has one row per resource.
//
// Only what fn does with its tx is guarded, not writes on another connection or to
// another system.
//
// # How it works
//
// The transaction first raises the resource's row to the token, unless it holds a
// larger one. That locks the row until the transaction ends. A writer with another
// token waits, and is then compared with the committed one. This holds at READ
// COMMITTED and every stricter isolation level. At REPEATABLE READ and above,
// PostgreSQL may end a waiting transaction with a serialization failure, as usual. A
// rollback also takes back the token.
//
// # Effects and outcome in one transaction
//
// If Quorate's store is the same PostgreSQL database, [Finish] also ends the run in the
// transaction. It needs no table of its own, and neither [Do] nor a [Guard].
//
// # A holder that freezes inside its transaction
//
// It keeps the row locked until the database ends its session, and the next holder
// waits. Nothing stale is written, but bound the wait:
// idle_in_transaction_session_timeout in PostgreSQL, innodb_lock_wait_timeout in MySQL
// and MariaDB (50 s by default), busy_timeout in SQLite (none by default: set it, or a
// second writer fails at once).
package sqlfence
