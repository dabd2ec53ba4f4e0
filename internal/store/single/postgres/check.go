package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// oldestServer is the oldest release whose tests have passed, as the server numbers it.
const oldestServer = 150000

const serverSettings = `SELECT s.version, s.number, s.fsync, s.pages, s.standbys, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication)
	FROM (SELECT pg_catalog.current_setting('server_version'), pg_catalog.current_setting('server_version_num')::int,
		pg_catalog.current_setting('fsync')::bool, pg_catalog.current_setting('full_page_writes')::bool,
		pg_catalog.current_setting('synchronous_standby_names')) AS s(version, number, fsync, pages, standbys)`

// Name is the address of the server and its database.
func (s *Store) Name() string { return s.servers()[0] + "/" + s.pool.Config().ConnConfig.Database }

// servers are the addresses of the servers, as the URL has them.
func (s *Store) servers() []string {
	c := s.pool.Config().ConnConfig
	list := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, other := range c.Fallbacks {
		if at := net.JoinHostPort(other.Host, strconv.Itoa(int(other.Port))); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// Check implements [kv.Server].
func (s *Store) Check(ctx context.Context) (kv.Checkup, error) {
	conn, err := s.acquire(ctx)
	if err == nil {
		defer conn.Release()
		s.checked.Store(false) // settings may have changed since
		err = s.check(ctx, conn)
	}
	if err != nil {
		return kv.Checkup{}, s.failure(ctx, "check", err)
	}
	var c kv.Checkup
	var number, standbys int
	var fsync, pages bool
	var synchronous string
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, serverSettings, pgx.QueryExecModeExec).Scan(&c.Version, &number, &fsync, &pages, &synchronous, &standbys)
	})
	if err != nil {
		return kv.Checkup{}, s.failure(ctx, "check", err)
	}
	find := func(topic string, mend bool, text string) {
		c.Findings = append(c.Findings, kv.Finding{Topic: topic, Mend: mend, Text: text})
	}
	if number < oldestServer {
		find("version", true, "this release is older than 15, with which nothing was tested: upgrade it")
	}
	if !fsync || !pages {
		find("durability", true, "fsync or full_page_writes is off: a crash of the machine may lose claims without a trace, and ticks run twice; set both to on")
	}
	if text := aboutStandbys(standbys, synchronous, s.durable); text != "" {
		find("standbys", s.durable && synchronous == "", text)
	}
	if s.durable {
		find("durable", false, "the configuration says durable: if this service ever promotes a standby that lacks commits, ticks may run twice")
	}
	return c, nil
}

// aboutStandbys says what the promotion of a standby may forget; "" if there is none.
func aboutStandbys(standbys int, synchronous string, durable bool) string {
	switch {
	case synchronous != "":
		return fmt.Sprintf("synchronous_standby_names is %q: if only a synchronous standby is ever promoted, nothing is forgotten that it has confirmed. "+
			"A commit that waits for it longer than timeout counts here, and may be missing there", synchronous)
	case standbys > 0 && durable:
		return "the standbys are asynchronous, and the configuration says durable: the promotion of one may forget the last commits, and then ticks run twice; remove durable, or set synchronous_standby_names"
	case standbys > 0:
		return "the standbys are asynchronous: the promotion of one may forget the last commits, also of the ledger. Stop this server first; " +
			"then no tick runs twice, and none runs for failover_grace. With synchronous_standby_names, and only a synchronous standby promoted, nothing is forgotten"
	}
	return ""
}

var _ kv.Server = (*Store)(nil)

// The settings of a session that statements cannot do without. The role, the database, the server,
// the URL or a pooler may set them. Of all others the functions are independent. It is read without
// compiling plans, and without temporary files.
const sessionSettings = `SET LOCAL jit = off; SET LOCAL work_mem = '16MB';
	SELECT name, setting, source, current_user, pg_catalog.pg_is_in_recovery() FROM pg_catalog.pg_settings
	WHERE name IN ('default_transaction_read_only', 'default_transaction_isolation', 'client_encoding', 'statement_timeout', 'transaction_timeout', 'idle_session_timeout')
	ORDER BY name`

// leastIdle is how long connections have to last unused. Those that were unused for a second are
// tested before they are used.
const leastIdle = 2 * time.Second

// checkSettings refuses a session with settings in which statements would fail, or have other
// results.
func (s *Store) checkSettings(ctx context.Context, conn *pgxpool.Conn) error {
	results, err := conn.Conn().PgConn().Exec(ctx, sessionSettings).ReadAll()
	if err != nil {
		err = s.cutShort(err)
	} else {
		err = s.refused(results[len(results)-1].Rows)
	}
	if err != nil {
		s.pool.Reset() // settings are those of new connections, and the primary may be another server by now
	}
	return err
}

// cutShort names the setting that ended a short statement, or the connection before it.
func (s *Store) cutShort(err error) error {
	switch code(err) {
	case queryCanceled:
		return unsuitable{fmt.Sprintf("the server cancels even short statements: statement_timeout has to be 0 or at least %d, unless an operator cancels them (%v)", s.timeout.Milliseconds(), err)}
	case idleSessionTimeout:
		return unsuitable{fmt.Sprintf("the server ends connections at once: idle_session_timeout has to be 0 or at least %d (%v)", leastIdle.Milliseconds(), err)}
	}
	return err
}

// refused says which of the settings, if any, cannot be worked with.
func (s *Store) refused(settings [][][]byte) (err error) {
	for _, row := range settings {
		name, value, source, role, standby := string(row[0]), string(row[1]), string(row[2]), string(row[3]), string(row[4]) == "t"
		if standby {
			return errStandby
		}
		if wanted := s.wanted(name, value); wanted != "" && err == nil {
			err = unsuitable{fmt.Sprintf("%s is %s for this connection, and has to be %s: %s", name, value, wanted, remedy(name, wanted, source, role))}
		}
	}
	return err
}

// wanted is the value that a setting should have, "" if its value is good.
func (s *Store) wanted(name, value string) string {
	needed := map[string]string{"default_transaction_read_only": "off", "default_transaction_isolation": "read committed", "client_encoding": "UTF8"}[name]
	if needed == "" {
		least := s.timeout
		if name == "idle_session_timeout" {
			least = leastIdle
		}
		millis, _ := strconv.Atoi(value) // it is a number
		if limit := time.Duration(millis) * time.Millisecond; limit > 0 && limit < least {
			return strconv.FormatInt(least.Milliseconds(), 10)
		}
		return ""
	}
	if value == needed {
		return ""
	}
	return needed
}

// remedy says where a setting comes from, and what to do about it.
func remedy(name, wanted, source, role string) string {
	switch source {
	case "client":
		return "remove it from the URL, or from the settings of the pool"
	case "session":
		return "a pooler, or a hook of the pool, sets it"
	case "user":
		source = "role"
	case "database", "database user":
	default:
		source = "server"
	}
	where := "ALTER ROLE " + pgx.Identifier{role}.Sanitize()
	if source == "database user" {
		source, where = "role", where+" IN DATABASE …"
	}
	return fmt.Sprintf("the %s sets it; run %s SET %s = '%s'", source, where, name, wanted)
}

// Servers that cannot be used.
var (
	errStandby   = errors.New("this server only reads: it is a standby. Connect to the primary")
	errOnlyReads = errors.New("this server only reads: it is a standby, or has default_transaction_read_only = on for this role")
)

// writes makes sure that one of several servers is the one that writes.
func writes(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SHOW transaction_read_only").ReadAll()
	if err == nil && string(results[0].Rows[0][0]) == "on" {
		err = errOnlyReads
	}
	return err
}

// unsuitable is an error that says which setting has to change. It matches [kv.ErrNotReady].
type unsuitable struct{ text string }

func (e unsuitable) Error() string { return e.text }

func (unsuitable) Is(target error) bool { return target == kv.ErrNotReady }
