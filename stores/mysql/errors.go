package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/internal/certificate"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// Codes of MySQL and MariaDB.
const (
	tooManyConnections  = 1040
	databaseDenied      = 1044
	accessDenied        = 1045
	unknownDatabase     = 1049
	serverShutdown      = 1053
	diskFull            = 1021
	tableFull           = 1114
	hostBlocked         = 1129
	hostNotAllowed      = 1130
	tableDenied         = 1142
	columnDenied        = 1143
	noSuchTable         = 1146
	unknownColumn       = 1054
	packetTooLarge      = 1153
	tooManyOfUser       = 1203
	lockWaitTimeout     = 1205
	deadlock            = 1213
	privilegeNeeded     = 1227
	limitOfUser         = 1226
	readOnlyServer      = 1290
	interrupted         = 1317
	noPlaceForLocks     = 1206
	killed              = 1927 // MariaDB: the connection, by an operator or for idle_transaction_timeout
	mustChangePassword  = 1820
	passwordExpired     = 1862
	accountLocked       = 3118
	accountLockedMaria  = 4151
	readOnlyTransaction = 1792
	readOnlyMode        = 1836
	statementTimeout    = 1969 // MariaDB
	queryTimeout        = 3024 // MySQL
	lockedNow           = 3572 // MySQL: NOWAIT
	clientIdle          = 4031 // MySQL: wait_timeout
	changedSinceRead    = 1020 // MariaDB: innodb_snapshot_isolation
	secureTransport     = 3159
)

// Kinds of errors, under names of this package.
var (
	errNotReady = kv.ErrNotReady
	errNotSent  = kv.ErrNotSent
)

// meaning gives err a meaning besides: a kind, without the words of that.
type meaning struct {
	error
	kind error
}

func (e meaning) Unwrap() []error { return []error{e.error, e.kind} }

// loginError is why a URL could not be read again for a new connection.
type loginError struct{ error }

func (e loginError) Unwrap() error { return e.error }

func (loginError) Is(target error) bool { return target == kv.ErrLogin }

// code is that of the server's answer, 0 if err is none. What went wrong while connecting is no
// answer to a statement.
func code(err error) uint16 {
	if connecting(err) {
		return 0
	}
	return answer(err)
}

// answer is the code of an error of the server, 0 if it is none.
func answer(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

func connecting(err error) bool {
	_, ok := errors.AsType[connectError](err)
	return ok
}

// undone reports whether a transaction was certainly rolled back, or never sent, by an accident that need
// not happen again. After a lock wait timeout the server has rolled back the statement alone: the
// caller ends the transaction.
func undone(err error) bool {
	switch code(err) {
	case deadlock, lockWaitTimeout, lockedNow, noPlaceForLocks, changedSinceRead:
		return true
	}
	return errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysql.ErrInvalidConn) && !connecting(err)
}

// failure is the error of a call on the database that is named.
func failure(ctx context.Context, database, call string, err error) error {
	err = retry.Ended(ctx, readable{err})
	if why, advice := refusedLogin(err); why != "" {
		return fmt.Errorf("mysql: %s: %w: %s: %w; %s", call, kv.ErrLogin, why, err, advice)
	}
	c, unsent := code(err), kv.ErrUnavailable // what became of a transaction is unknown
	if errors.As(err, &groups.Unsent{}) {
		unsent = kv.ErrNotSent
	}
	switch {
	case errors.Is(err, kv.ErrNotReady), errors.Is(err, kv.ErrLogin), errors.Is(err, kv.ErrNotSent), errors.Is(err, kv.ErrLocked), errors.Is(err, kv.ErrFull):
	case errors.Is(err, kv.ErrUnavailable):
		err = meaning{err, unsent}
	case c == noSuchTable, c == unknownDatabase, c == unknownColumn:
		err = fmt.Errorf("%w in the database %s: run `quorate store migrate` (%w)", kv.ErrNotReady, database, err)
	case c == databaseDenied, c == tableDenied, c == columnDenied, c == privilegeNeeded, c == accessDenied:
		err = fmt.Errorf("%w: %s (%w)", kv.ErrNotReady, aboutRights(call, database), err)
	case c == readOnlyServer, c == readOnlyMode, c == readOnlyTransaction:
		err = meaning{fmt.Errorf("this server only reads: it is a replica, or was one. Connect to the primary (%w)", err), unsent}
	case c == lockWaitTimeout, c == lockedNow, c == deadlock:
		err = meaning{fmt.Errorf("another transaction holds a record: %w", err), kv.ErrLocked}
	case c == diskFull, c == tableFull:
		err = meaning{fmt.Errorf("the server has no space left: give it some (%w)", err), unsent}
	case c == packetTooLarge, errors.Is(err, mysql.ErrPktTooLarge):
		err = meaning{fmt.Errorf("max_allowed_packet is too small: run SET GLOBAL max_allowed_packet = %d (%w)", leastPacket, err), kv.ErrNotReady}
	case c == statementTimeout, c == queryTimeout, c == interrupted:
		err = meaning{fmt.Errorf("the server has cancelled the statement, as max_statement_time, max_execution_time or an operator wants (%w)", err), unsent}
	case full(err):
		err = meaning{fmt.Errorf("the server has no connection left: raise max_connections, also that of the user, or lower the pools of its clients (%w)", err), kv.ErrNotSent}
	case c == 0 && (connecting(err) || undone(err)):
		err = fmt.Errorf("%w: %w", kv.ErrNotSent, err)
	case c == 0:
		err = fmt.Errorf("%w: %w", unsent, err)
	case passing(c), call == "commit" && !errors.Is(unsent, kv.ErrNotSent):
		err = meaning{err, unsent} // whatever a COMMIT has failed with
	}
	return fmt.Errorf("mysql: %s: %w", call, err)
}

// full reports whether the server had no place for a connection.
func full(err error) bool {
	switch answer(err) {
	case tooManyConnections, tooManyOfUser, limitOfUser:
		return true
	}
	return false
}

// passing reports whether a code is of troubles that pass: of locks, of a server that ends, and of
// operators who end sessions.
func passing(code uint16) bool {
	switch code {
	case serverShutdown, killed, clientIdle, noPlaceForLocks, changedSinceRead:
		return true
	}
	return false
}

// refusedLogin says in which way a connection was refused that would be refused again, and what to do;
// "" if it was not.
func refusedLogin(err error) (why, advice string) {
	if !connecting(err) {
		return "", ""
	}
	switch answer(err) {
	case accessDenied:
		return "wrong user or password", "check both in the URL, and from which hosts the user may connect"
	case databaseDenied, unknownDatabase:
		return "no right to the database", "the GRANT statements of `quorate store migrate --print --role` give it"
	case hostNotAllowed, hostBlocked:
		return "the server does not admit this host", "create the user for this host, or run FLUSH HOSTS"
	case mustChangePassword, passwordExpired:
		return "the password has expired", "set another one by ALTER USER"
	case accountLocked, accountLockedMaria:
		return "the account is locked", "unlock it by ALTER USER … ACCOUNT UNLOCK"
	case secureTransport:
		return "the server wants TLS", "write tls=true in the URL, or mysql.tls"
	}
	switch untrusted, byServer := certificate.Refused(err); {
	case untrusted:
		return "the certificate of the server is not trusted", "check mysql.tls and the host in the URL"
	case byServer:
		return "TLS", "check mysql.tls: the server may want another client certificate"
	case errors.Is(err, mysql.ErrNoTLS):
		return "the server has no TLS", "check tls in the URL, and mysql.tls"
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return "the driver does not know how this user logs in", "create the user with caching_sha2_password, mysql_native_password or ed25519"
	}
	return "", ""
}

// aboutRights says what to do about a missing right. The server names the object.
func aboutRights(call, database string) string {
	switch call {
	case "migrate":
		return "the user may not make the database or its tables: see `GRANT ALL ON " + database + ".*`"
	case readVersion:
		return "the user may not read which tables there are: with --print add --from 0 if there are none, else use the URL of their owner"
	}
	return "the user lacks rights: the GRANT statements of `quorate store migrate --print --role` give them"
}

// readable is an error of the driver for people.
type readable struct{ error }

func (e readable) Error() string {
	text := e.error.Error()
	if errors.Is(e.error, mysql.ErrInvalidConn) || errors.Is(e.error, driver.ErrBadConn) || errors.Is(e.error, io.ErrUnexpectedEOF) {
		for _, words := range []string{mysql.ErrInvalidConn.Error(), driver.ErrBadConn.Error(), io.ErrUnexpectedEOF.Error()} {
			text = strings.ReplaceAll(text, words, "the connection was closed")
		}
	}
	return text
}

func (e readable) Unwrap() error { return e.error }
