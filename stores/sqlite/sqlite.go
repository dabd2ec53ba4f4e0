// Package sqlite keeps everything in one file of SQLite, for replicas that are processes on one host.
// It needs no server and no cgo. It is a module of its own, so that nobody else carries SQLite:
//
//	r, err := replica.New(replica.Config{
//		SQLite: settings.SQLite{Path: "/var/lib/quorate/quorate.db"},
//		Store:  new(sqlite.Store),
//		Jobs:   …,
//	})
//
// The first process that opens the path creates the file, with the mode 0600. Its directory has to exist.
//
// # One host
//
// All processes have to run on one kernel, also if they run in containers: mount the directory, not the
// file. The directory has to be on a file system that is known to be local. Others are refused, because
// their locks may not hold for everybody.
//
// # Durability
//
// The file is in WAL mode. A commit waits until its -wal file is on the disk, so a crash of the host
// forgets nothing. The files with the endings -wal and -shm belong to the database and stay when the
// last process ends.
//
// # Backups
//
// Make a backup with `sqlite3 quorate.db ".backup copy.db"`. To restore it, end all processes, delete the
// -wal and -shm, and move the copy to the path. Processes that still run notice it, and so do all that
// start later: for a grace they grant nothing that may have been granted before.
//
// They notice it by the numbers of the files (inodes) and the times of their birth, which the database has
// noted. A copy that is written over the file (`cp copy.db quorate.db`) keeps both, and so does a
// snapshot of the whole disk. Nothing shows these: run `quorate-sqlite store init --restored`
// afterwards. A file that is written over while processes run is damaged.
//
// A program of SQLite that opens the file while no replica runs deletes the -wal and -shm at its end.
// Then the next replica waits for a grace, too.
package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/sqlstore"
	"github.com/quorate/quorate/replica"
)

// A Store opens the file that the sqlite section names.
type Store struct{}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionSQLite }

// Address implements [replica.Store].
func (s *Store) Address() string { return "" }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, c config.Cluster) (kv.Server, error) {
	return newServer(c.SQLite.Path, c.Namespace, c.Timeout), nil
}

var _ replica.Store = (*Store)(nil)

// limits bound a transaction: SQLite nests conditions at most 1000 deep.
var limits = kv.Limits{Keys: 500, Bytes: 8 << 20}

// texts are the parts of statements. The life was judged when the file was opened, so it is always that
// of the file.
func texts() sqlstore.Texts {
	return sqlstore.Texts{
		Begin:       beginWriting,
		Identity:    "server",
		Clock:       "CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)",
		Part:        "SELECT * FROM (%s)",
		OverRecords: " ON CONFLICT (kind, name, sub) DO UPDATE SET version = excluded.version, value = excluded.value",
		OverSlots:   " ON CONFLICT (id) DO UPDATE SET version = excluded.version",
	}
}

// A server is a [kv.Server] on a file.
type server struct {
	*sqlstore.Store
	dialect *dialect
}

// newServer returns the store in a file, which it opens with the first call.
func newServer(path, namespace string, timeout time.Duration) *server {
	d := newDialect(path, namespace)
	return &server{sqlstore.New(sqlstore.Config{
		Dialect: d, Texts: texts(), Slots: 1, Limits: limits, Timeout: timeout, Conns: maxConns,
	}), d}
}

// Name implements [kv.Server].
func (s *server) Name() string { return "sqlite " + s.dialect.path }

// Check implements [kv.Server]. It opens the file, so it finds what would be refused.
func (s *server) Check(ctx context.Context) (kv.Checkup, error) {
	conn, err := s.dialect.Connect(ctx)
	if err != nil {
		return kv.Checkup{}, s.dialect.Failure(ctx, "check", err)
	}
	defer func() { _ = conn.Close() }()
	var c kv.Checkup
	var damage string
	err = conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&c.Version)
	if err != nil {
		return kv.Checkup{}, s.dialect.Failure(ctx, "check", err)
	}
	err = conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&damage)
	switch {
	case err != nil && ctx.Err() != nil:
		c.Findings = append(c.Findings, kv.Finding{Topic: "file", Text: "the file was not read to its end for damage in the time that a call has (sqlite.timeout): to read all of it, run sqlite3 FILE 'PRAGMA quick_check'"})
	case err != nil:
		return kv.Checkup{}, s.dialect.Failure(ctx, "check", err)
	case damage != "ok":
		c.Findings = append(c.Findings, kv.Finding{Topic: "file", Mend: true, Text: fmt.Sprintf("the file is damaged (%s): end all processes that use it, put a backup in its place without -wal and -shm, and start them again", damage)})
	}
	if info, err := os.Stat(s.dialect.path); err == nil && info.Mode().Perm()&0o077 != 0 {
		c.Findings = append(c.Findings, kv.Finding{Topic: "mode", Mend: true, Text: fmt.Sprintf("other users of this host may read the file, which has the output of jobs: its mode is %#o; run chmod 600 on it, and on those with -wal and -shm", info.Mode().Perm())})
	}
	return c, nil
}

// Close implements [kv.Server].
func (s *server) Close() {
	s.Wait()
	s.dialect.close()
}

var _ kv.Server = (*server)(nil)
