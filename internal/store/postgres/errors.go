package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quorate/quorate/internal/store"
)

// Codes of PostgreSQL, from its appendix A.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnly             = "25006"
	undefinedFunction    = "42883"
	undefinedTable       = "42P01"
	undefinedSchema      = "3F000"
	duplicateSchema      = "42P06"
	insufficientRights   = "42501"
	lockNotAvailable     = "55P03"
)

// code is that of the server's answer, "" if err is none. What went wrong while connecting
// is no answer.
func code(err error) string {
	var connect *pgconn.ConnectError
	var answer *pgconn.PgError
	if errors.As(err, &connect) || !errors.As(err, &answer) {
		return ""
	}
	return answer.Code
}

// notSent is why a transaction was not sent.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// changedNothing reports whether the transaction was certainly rolled back, or never sent,
// by an accident that need not happen again.
func changedNothing(err error) bool {
	c := code(err)
	return c == serializationFailure || c == deadlockDetected || pgconn.SafeToRetry(err)
}

// failure is the error of a call. No error of pgx has the password: it has the user, the
// database and the host.
func (s *Store) failure(ctx context.Context, call string, err error) error {
	var kind error
	err = oneLine{err}
	switch c := code(err); {
	case errors.Is(err, store.ErrNotReady):
		return fmt.Errorf("postgres: %s: %w", call, err)
	case c == undefinedFunction, c == undefinedTable, c == undefinedSchema:
		return fmt.Errorf("postgres: %s: %w in the schema %s: run `quorate store migrate` (%w)", call, store.ErrNotReady, s.schema, err)
	case c == duplicateSchema:
		return fmt.Errorf("postgres: %s: %w: %w", call, store.ErrNotReady, err)
	case c == insufficientRights:
		return fmt.Errorf("postgres: %s: %w: %s (%w)", call, store.ErrNotReady, aboutRights(call, err), err)
	case c == lockNotAvailable:
		kind = store.ErrLocked
	case c == readOnly && s.owned:
		s.pool.Reset() // the primary is another server by now: the next call looks for it
		kind = store.ErrUnavailable
	case c == "" && (errors.As(err, &notSent{}) || pgconn.SafeToRetry(err)):
		kind = store.ErrNotSent
	case c == "", c == readOnly, passing(c):
		kind = store.ErrUnavailable
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if kind != nil {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return fmt.Errorf("postgres: %s: %w", call, err)
}

// aboutRights says what to do about a missing right. PostgreSQL names the object.
func aboutRights(call string, err error) string {
	if call == "migrate" {
		return "the role may create no schema, and does not own one: see `GRANT CREATE ON DATABASE`, or `CREATE SCHEMA … AUTHORIZATION`"
	}
	for _, function := range []string{"pg_control_system", "pg_current_wal_insert_lsn", "pg_walfile_name"} {
		if strings.Contains(err.Error(), function) {
			return "this service hides its timeline: allow the owner of the schema to call " + function + ", or read about `durable`"
		}
	}
	return "the role lacks rights: the GRANT statements of `quorate store migrate --print --role` give them"
}

// oneLine is an error of pgx in one line. pgx says on a line each how it failed to connect to
// each address, with and without TLS.
type oneLine struct{ error }

func (e oneLine) Error() string {
	lines := strings.FieldsFunc(e.error.Error(), func(r rune) bool { return r == '\n' || r == '\t' })
	first, tries := lines[0], slices.Compact(lines[1:])
	return strings.TrimSuffix(first+" "+strings.Join(tries, "; "), " ")
}

func (e oneLine) Unwrap() error { return e.error }

// passing reports whether the class of a code is of troubles that pass: of connections,
// transactions, resources, locks, operators, and the system.
func passing(code string) bool {
	switch code[:2] {
	case "08", "40", "53", "55", "57", "58":
		return true
	}
	return false
}
