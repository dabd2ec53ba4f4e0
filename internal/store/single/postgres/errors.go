package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quorate/quorate/internal/certificate"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// Codes of PostgreSQL, from its appendix A, and of the functions.
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
	tooManyConnections   = "53300"
	limitExceeded        = "53400"
	outOfMemory          = "53200" // also of the table of locks
	queryCanceled        = "57014"
	idleSessionTimeout   = "57P05"
	invalidPassword      = "28P01"
	invalidLogin         = "28000"
	undefinedDatabase    = "3D000"
	completionUnknown    = "40003"
	noStatement          = "26000"
	duplicateStatement   = "42P05"
	changedResult        = "0A000" // of a prepared statement
	wrongSetting         = "QS001"
	noPlace              = "QS002"
)

// code is that of the server's answer, "" if err is none. What went wrong while connecting
// is no answer.
func code(err error) string {
	if connecting(err) {
		return ""
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// withoutTLS is what pgx says of a server that has no TLS, also if it goes on without.
const withoutTLS = "server refused TLS connection"

func connecting(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// meaning gives err a meaning besides: a kind, without the words of that.
type meaning struct {
	error
	kind error
}

func (e meaning) Unwrap() []error { return []error{e.error, e.kind} }

// changedNothing reports whether the transaction was certainly rolled back, or never sent,
// by an accident that need not happen again.
func changedNothing(err error) bool {
	c := code(err)
	return c == serializationFailure || c == deadlockDetected || c == outOfMemory || misprepared(err) || pgconn.SafeToRetry(err)
}

// misprepared reports whether a prepared statement is not, or no longer, what it was.
func misprepared(err error) bool {
	c := code(err)
	return c == noStatement || c == duplicateStatement || c == changedResult
}

// rolledBack reports whether a group was certainly not committed, so that each of its members may go
// alone: the server has answered with an error that left the connection open, or got nothing.
func rolledBack(err error) bool {
	if pgconn.SafeToRetry(err) {
		return true
	}
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !connecting(err) && !errors.Is(err, kv.ErrUnavailable) && cmp.Or(answer.SeverityUnlocalized, answer.Severity) == "ERROR"
}

// failure is the error of a call.
func (s *Store) failure(ctx context.Context, call string, err error) error {
	err = retry.Ended(ctx, readable{err})
	if why, advice := refusedLogin(err); why != "" {
		return fmt.Errorf("postgres: %s: %w: %s: %w; %s", call, kv.ErrLogin, why, err, advice)
	}
	switch c := code(err); {
	case errors.Is(err, kv.ErrNotReady), errors.Is(err, kv.ErrLogin):
	case c == undefinedFunction, c == undefinedTable, c == undefinedSchema:
		err = fmt.Errorf("%w in the schema %s: run `quorate store migrate`, or postgres.Migrate in your program (%w)", kv.ErrNotReady, s.schema, err)
	case c == duplicateSchema:
		err = fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	case c == wrongSetting:
		s.pool.Reset() // settings of roles and databases are those of new connections
		err = meaning{err, kv.ErrNotReady}
	case c == insufficientRights:
		err = fmt.Errorf("%w: %s (%w)", kv.ErrNotReady, aboutRights(call, err), err)
	case c == lockNotAvailable:
		err = meaning{fmt.Errorf("another transaction holds a record: %w", err), kv.ErrLocked}
	case c == noPlace:
		err = meaning{err, kv.ErrFull}
	case c == readOnly:
		s.pool.Reset() // the primary is another server by now: the next call looks for it
		err = meaning{err, kv.ErrUnavailable}
	case c == limitExceeded:
		err = meaning{fmt.Errorf("temp_file_limit is too small for this role: raise it or work_mem (%w)", err), kv.ErrUnavailable}
	case c == queryCanceled:
		s.checked.Store(false) // the next call looks at the settings
		s.pool.Reset()
		err = meaning{fmt.Errorf("the server has cancelled the statement, as statement_timeout or an operator wants (%w)", err), kv.ErrUnavailable}
	case slices.ContainsFunc(answers(err), func(a *pgconn.PgError) bool { return a.Code == tooManyConnections }):
		err = meaning{fmt.Errorf("the server has no connection left: raise its max_connections, or lower the pools of its clients (%w)", err), kv.ErrNotSent}
	case errors.Is(err, errStandby):
		err = meaning{err, kv.ErrNotSent}
	case errors.Is(err, errAllInUse), errors.Is(err, errOnlyReads), c == "" && answered(err) && (connecting(err) || errors.As(err, &groups.Unsent{})):
		err = meaning{fmt.Errorf("there is no connection: %w", err), kv.ErrNotSent}
	case c == "" && (errors.As(err, &groups.Unsent{}) || pgconn.SafeToRetry(err)):
		err = fmt.Errorf("%w: %w", kv.ErrNotSent, err)
	case c == "":
		err = fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	case passing(c):
		err = meaning{err, kv.ErrUnavailable}
	}
	return fmt.Errorf("postgres: %s: %w", call, err)
}

// refusedLogin says in which way a connection was refused that would be refused again, and what
// to do; "" if it was not.
func refusedLogin(err error) (why, advice string) {
	if !connecting(err) {
		return "", ""
	}
	for _, answer := range answers(err) {
		switch answer.Code {
		case invalidPassword:
			return "wrong user or password", "check both in the URL"
		case undefinedDatabase:
			return "no such database", "check its name in the URL, or create it"
		case insufficientRights:
			return "no right to the database", "GRANT CONNECT ON DATABASE gives it"
		case invalidLogin:
			return "the server does not admit this user", "check the user and the certificate in the URL, and pg_hba.conf of the server"
		}
	}
	switch untrusted, byServer := certificate.Refused(err); {
	case untrusted:
		return "the certificate of the server is not trusted", "check sslrootcert and the host in the URL"
	case byServer:
		return "TLS", "check sslcert and sslkey in the URL: the server may want another client certificate"
	case strings.Contains(err.Error(), withoutTLS):
		return "the server has no TLS", "check sslmode in the URL"
	}
	return "", ""
}

// answers are those of all servers that pgx tried to connect to.
func answers(err error) (list []*pgconn.PgError) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked
	case *pgconn.PgError:
		return []*pgconn.PgError{e}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			list = append(list, answers(part)...)
		}
	case interface{ Unwrap() error }:
		return answers(e.Unwrap())
	}
	return list
}

func answered(err error) bool { return len(answers(err)) > 0 }

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

// readable is an error of pgx for people, in one line. Of connections pgx tells the user and the
// database, and on a line each how it failed to connect to each address, with and without TLS.
type readable struct{ error }

func (e readable) Error() string {
	text := e.error.Error()
	if failed, ok := errors.AsType[*pgconn.ConnectError](e.error); ok {
		text = strings.Replace(text, failed.Error(), aboutTries(triesIn(failed.Unwrap())), 1)
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

func (e readable) Unwrap() error { return e.error }

// triesIn are the errors of the tries to connect.
func triesIn(err error) (list []error) {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if several, ok := inner.(interface{ Unwrap() []error }); ok {
			for _, part := range several.Unwrap() {
				list = append(list, triesIn(part)...)
			}
			return list
		}
	}
	return []error{err}
}

// aboutTries says of each server why it cannot be used. What it has answered says more than all
// else, and any other failure more than that it has no TLS.
func aboutTries(tries []error) string {
	var servers []string
	causes, weights := map[string][]string{}, map[string]int{}
	for _, err := range tries {
		server, cause := aboutTry(err)
		weight := 1
		switch {
		case answered(err):
			weight = 2
		case strings.Contains(cause, withoutTLS):
			weight = 0
		}
		if !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
		if weight > weights[server] {
			causes[server], weights[server] = nil, weight
		}
		if weight == weights[server] && !slices.Contains(causes[server], cause) {
			causes[server] = append(causes[server], cause)
		}
	}
	var all []string
	for _, server := range servers {
		all = append(all, strings.TrimPrefix(server+": ", ": ")+strings.Join(causes[server], ", "))
	}
	return strings.Join(all, "; ")
}

// aboutTry is the server of one try, as the URL names it, and why it failed. pgx says
// "10.0.0.1:5432 (db.example): dial error: …".
func aboutTry(err error) (server, cause string) {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return unknown.Name, unknown.Err
	}
	cause = err.Error()
	address, rest, _ := strings.Cut(cause, " (")
	if host, why, ok := strings.Cut(rest, "): "); ok {
		server, cause = address, why
		if _, port, err := net.SplitHostPort(address); err == nil { // no socket
			server = net.JoinHostPort(host, port)
		}
	}
	if answers := answers(err); len(answers) > 0 {
		return server, answers[0].Error()
	}
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, end) {
			return server, end.Error()
		}
	}
	if broken, ok := errors.AsType[*net.OpError](err); ok && broken.Op != "remote error" {
		last := broken.Err
		for inner := last; inner != nil; inner = errors.Unwrap(inner) {
			last = inner
		}
		return server, last.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return server, "the connection was closed"
	}
	for _, step := range []string{"dial error: ", "tls error: ", "ValidateConnect failed: "} {
		cause = strings.TrimPrefix(cause, step)
	}
	return server, cause
}

// passing reports whether the class of a code is of troubles that pass: of connections,
// transactions, resources, locks, operators, and the system.
func passing(code string) bool {
	switch code[:2] {
	case "08", "40", "53", "55", "57", "58":
		return true
	}
	return false
}
