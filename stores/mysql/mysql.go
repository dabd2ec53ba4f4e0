// Package mysql keeps everything in MySQL 8 or MariaDB 10.11 and later, in place of Redis nodes. It is in
// a module of its own, so that nobody else carries the driver:
//
//	r, err := replica.New(replica.Config{
//		MySQL: settings.MySQL{URL: "mysql://user@10.0.0.1:3306"},
//		Store: new(mysql.Store),
//		Jobs:  …,
//	})
//
// Tests use MariaDB 10.11. MySQL was not tried: what differs there is from its manual.
//
// # Setting up
//
// `quorate-mysql store migrate` makes the database that the namespace names, with its tables. The database
// belongs to Quorate alone. Replicas use a user with rights to the tables; the statements are printed with
// --print --role.
//
// # Tables
//
// The table "records" has all records, by kind, name and sub. The table "slots" has 1,040 rows that are
// locked in place of records that do not exist, and from which versions are drawn. The views "runs" and "ticks"
// have the ledger with typed columns, for people and their tools.
//
// # Transactions
//
// Package sqlstore describes them: they are at READ COMMITTED, and lock rows without waiting. Several go
// together, in one transaction of the server and with one flush to its disks.
//
// A proxy that sends reads to replicas is noticed: each statement reads the identity of the server that
// answers it.
//
// Settings with which a commit might be lost, or a statement mean something else, are refused by name when a
// connection begins. So are Galera and groups with several primaries. A connection lasts for at most a
// minute, so a server that such settings are given while it runs is refused a minute later.
//
// # The life
//
// The server's identity is server_uuid on MySQL. On MariaDB, which has none, it is the server's number, its
// host and its port. The table "life" has the identity of the server that wrote last: a server with another
// one, such as a replica that was promoted, begins another incarnation. A server that restarts has the
// same one: it keeps what it has committed.
//
// So one promotion after another is noticed if the old primary was fenced first, and if replicas wrote to the
// new one before the next. What looks like the same server is not noticed: a disk that was restored, a
// clone with the same identity, and a return to the old server before anything was written to the new one.
// `quorate-mysql store init --restored` is for those.
package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/sqlstore"
	"github.com/quorate/quorate/replica"
)

// DefaultDatabase is the database if the configuration names none.
const DefaultDatabase = "quorate"

// A Store opens the server that the mysql section names.
type Store struct {
	// DB, if set, has the connections of the service, in place of the URL of the section. Their settings
	// are checked, and not changed: write tx_isolation=%27READ-COMMITTED%27 in the name of the data source, on
	// MySQL transaction_isolation. The replica uses up to eight of them. Jobs that hold all keep leases from being
	// extended, so set no limit of open connections that jobs reach.
	DB *sql.DB
}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionMySQL }

// Address implements [replica.Store].
func (s *Store) Address() string {
	if s.DB == nil {
		return ""
	}
	return ofService
}

// ofService stands in for the address of a server that the service has connected to: a *sql.DB does not
// tell it.
const ofService = "mysql://service"

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	return open(source{fresh: cluster.Login, db: s.DB, database: cluster.Namespace, timeout: cluster.Timeout})
}

var _ replica.Store = (*Store)(nil)

// A source says where the records are.
type source struct {
	fresh    func() (config.Login, error) // the login as it is now, for each connection
	db       *sql.DB                      // of the service, in place of that
	database string
	timeout  time.Duration
}

// A server is a [kv.Store] on one server.
type server struct {
	*sqlstore.Store

	db       *sql.DB
	own      bool // the connections are the Store's, not the service's
	address  string
	database string
	timeout  time.Duration
	checked  atomic.Bool               // this release can work with the tables
	found    atomic.Pointer[variables] // the settings of the session that was checked last
}

// slots and limits bound what a transaction locks, and how large its texts are.
const slots = 1024

func limits() kv.Limits { return kv.Limits{Keys: 500, Bytes: 4 << 20} }

// open returns the store that c describes. It does not connect: that is for the first call.
func open(c source) (*server, error) {
	s := &server{own: c.db == nil, address: "mysql", database: cmp.Or(c.database, DefaultDatabase), timeout: c.timeout, db: c.db}
	conns := maxConns
	if s.own {
		read, err := c.read()
		if err == nil {
			s.address = read.Addr
			s.db, err = c.connect(read, s.learn)
		}
		if err != nil {
			return nil, fmt.Errorf("mysql: %w", err)
		}
	} else if most := c.db.Stats().MaxOpenConnections; most > 0 {
		conns = min(most, maxConns)
	}
	config := sqlstore.Config{
		Dialect: s, Texts: texts(s.database), Slots: slots, Limits: limits(), Timeout: cmp.Or(c.timeout, connectTimeout), Conns: conns,
	}
	if s.own { // those of a service may refuse a text with several statements
		config.Answered = func(err error) bool { return code(err) != 0 }
	}
	s.Store = sqlstore.New(config)
	return s, nil
}

// texts are the parts of statements. MySQL alone reads the comments with a number, MariaDB those with an M.
func texts(database string) sqlstore.Texts {
	const share = ` /*!80000 FOR SHARE NOWAIT */ /*M! LOCK IN SHARE MODE NOWAIT */`
	const shareFree = ` /*!80000 FOR SHARE SKIP LOCKED */ /*M! LOCK IN SHARE MODE SKIP LOCKED */`
	return sqlstore.Texts{
		Tables:      quoted(database) + ".",
		Begin:       `START TRANSACTION READ WRITE`,
		Identity:    `IF(CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF'), /*!80000 @@GLOBAL.server_uuid */ /*M! CONCAT(@@GLOBAL.server_id, '@', @@GLOBAL.hostname, ':', @@GLOBAL.port) */, '')`,
		Clock:       `TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))`,
		Part:        `(%s)`,
		ChangeSlots: ` FOR UPDATE SKIP LOCKED`, CompareSlots: shareFree,
		ChangeRecords: ` FOR UPDATE NOWAIT`, CompareRecords: share,
		ByKey: ` FORCE INDEX (PRIMARY)`, Deleted: `{t}records `,
		OverRecords: ` ON DUPLICATE KEY UPDATE version = VALUES(version), value = VALUES(value)`,
		OverSlots:   ` ON DUPLICATE KEY UPDATE version = VALUES(version)`,
		Again:       ` ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version)) + 1, value = VALUES(value)`,
		Keep:        ` ON DUPLICATE KEY UPDATE version = version`,
		Bytes:       `UNHEX(CONVERT(? USING latin1))`,
	}
}

// Connect implements [sqlstore.Dialect]. All connections that were idle may have ended with the server that they
// lead to.
func (s *server) Connect(ctx context.Context) (conn *sql.Conn, err error) {
	for range maxConns + 1 {
		if conn, err = s.connect(ctx); err == nil || !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	if err != nil {
		return nil, groups.Unsent{Err: err}
	}
	return conn, nil
}

func (s *server) connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := s.connection(ctx)
	if err != nil || s.checked.Load() {
		return conn, err
	}
	if err := s.checkTables(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.checked.Store(true)
	return conn, nil
}

// Kept implements [sqlstore.Dialect].
func (s *server) Kept(*sql.Conn) error { return nil }

// Undone implements [sqlstore.Dialect].
func (s *server) Undone(err error) bool { return undone(err) }

// Failure implements [sqlstore.Dialect].
func (s *server) Failure(ctx context.Context, call string, err error) error {
	if c := code(err); c == noSuchTable || c == unknownDatabase {
		s.checked.Store(false)
	}
	return failure(ctx, s.database, call, err)
}

// learn checks the settings of a session. If they, or its server, are others than before, its tables are
// checked again.
func (s *server) learn(found variables) error {
	if last := s.found.Swap(&found); last == nil || !maps.Equal(*last, found) {
		s.checked.Store(false)
	}
	return s.judge(found)
}

// judge refuses settings with which calls would lose commits, or mean something else.
func (s *server) judge(found variables) error {
	if err := found.checkNames(s.database); err != nil {
		return err
	}
	return found.check(s.own, s.timeout)
}

// Schema is the database of the tables, quoted: jobs may end their runs in transactions there.
func (s *server) Schema() string { return quoted(s.database) }

// Name implements [kv.Server].
func (s *server) Name() string { return s.address + "/" + s.database }

// Close implements [kv.Server].
func (s *server) Close() {
	s.Wait()
	if s.own {
		_ = s.db.Close() // all that is lost are connections
	}
}

// connection returns a connection with a session in which statements mean what they should.
func (s *server) connection(ctx context.Context) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.noConnection(ctx, err)
	}
	if s.own {
		return conn, nil
	}
	found, err := readAll(ctx, conn, readSettings)
	if err == nil {
		err = s.learn(found)
	}
	if err != nil {
		_ = conn.Close()
		return nil, connectError{err}
	}
	return conn, nil
}

// errAllInUse is why a call got no connection, although the server may be well.
var errAllInUse = errors.New("all connections are in use")

// noConnection is why a call got no connection.
func (s *server) noConnection(ctx context.Context, err error) error {
	if stat := s.db.Stats(); ctx.Err() != nil && stat.MaxOpenConnections > 0 && stat.InUse >= stat.MaxOpenConnections {
		return connectError{fmt.Errorf("%w, %d of %d: raise the limit of the *sql.DB, or use one that jobs do not share (%w)", errAllInUse, stat.InUse, stat.MaxOpenConnections, err)}
	}
	return connectError{fmt.Errorf("%s: %w", s.address, err)}
}

// isNoRows reports whether a statement has returned nothing.
func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

var (
	_ kv.Migrator      = (*server)(nil)
	_ sqlstore.Dialect = (*server)(nil)
)
