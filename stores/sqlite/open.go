package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"os"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// applicationID marks files of Quorate: "Quor". SQLite keeps it in the header of the file.
const applicationID = 0x51756f72

//go:embed migrations/*.sql
var migrations embed.FS

// steps are the migrations, in order. The version of a database is how many it has had.
func steps() []kv.Migration { return kv.MigrationsIn(migrations) }

// maxConns bounds the connections of a process. One at a time writes.
const maxConns = 8

// opened are connections to the files that were at a place.
type opened struct {
	*connector
	db *sql.DB
	// last stays open as long as the others may be: it saves what they have committed.
	last *link
}

// open opens the file at a path as it is now, and creates it if there is none.
func open(ctx context.Context, path, namespace string) (*opened, error) {
	p, err := locate(path)
	if err != nil {
		return nil, err
	}
	p.namespace = namespace
	unlock, err := p.lockDir(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.create(); err != nil {
		return nil, err
	}
	id, err := p.settle(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{connector: &connector{place: p, identity: id, turn: make(chan struct{}, 1)}}
	if o.last, err = o.dial(ctx); err != nil {
		return nil, err
	}
	o.db = sql.OpenDB(o.connector)
	o.db.SetMaxOpenConns(maxConns)
	o.db.SetMaxIdleConns(maxConns)
	return o, nil
}

func (o *opened) close() error { return errors.Join(o.db.Close(), o.last.Close()) }

// leave closes the connections to files that are no longer those at the path. If only the -wal or -shm is
// gone, what was committed comes into the main file first: others cannot read it in a -wal without a
// name. Nobody begins another -wal before all have left.
func (o *opened) leave(ctx context.Context) error {
	now, err := o.place.identify()
	if err != nil {
		return err
	}
	if now.main == o.identity.main {
		if err := whileBusy(ctx, func() error { return o.last.checkpoint(ctx) }); err != nil {
			return err
		}
	}
	return o.close()
}

// checkpoint copies all that is in the -wal into the main file.
func (l *link) checkpoint(ctx context.Context) error {
	busy, err := l.value(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if isBusy(err) || err == nil && busy != int64(0) {
		err = meaning{errors.New("the -wal cannot be written to the main file while another process reads or writes it: end that process if it hangs"), errBusy}
	}
	return err
}

// settle makes sure that the files at the place belong together and have the schema of this release, and
// returns their identity. Files that do not belong together begin another life.
func (p place) settle(ctx context.Context) (identity, error) {
	mark, err := p.mark(ctx)
	if err != nil {
		return identity{}, err
	}
	id, err := p.identify()
	if err != nil || mark.identity == id && mark.version == int64(len(steps())) {
		return id, err
	}
	if err := p.adopt(ctx, mark, id); err != nil {
		return identity{}, err
	}
	return p.identify()
}

// A mark is what the main file says without its -wal, which may be that of another one.
type mark struct {
	file
	identity identity
}

// mark reads the main file alone. Its identity is there since it began its life, and has not
// changed since then. Only a begin that was cut off, or another program, leaves it without one.
func (p place) mark(ctx context.Context) (m mark, err error) {
	l, err := dial(p, "immutable=1", nil)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.look(ctx, &m.file); err != nil {
		return m, err
	}
	if m.tables == 0 && m.application == 0 {
		return m, nil
	}
	if err := m.check(); err != nil || m.tables == 0 {
		return m, err
	}
	got, err := l.value(ctx, "SELECT server FROM life")
	text, _ := got.(string)
	m.identity = parseIdentity(text)
	return m, err
}

// check refuses databases of other programs, and of later releases.
func (f file) check() error {
	switch known := int64(len(steps())); {
	case f.application != applicationID:
		return refuse("it is a database of another program: choose another path")
	case f.version > known:
		return refuse("its schema has version %d, and this release knows %d: upgrade quorate", f.version, known)
	case f.encoding != "UTF-8":
		return refuse("its encoding is %s: only UTF-8 can be used; choose another path", f.encoding)
	}
	return nil
}

// adopt makes the files at the place belong together, with this process alone in the main file. Until
// then nobody reads or writes it, so commits of a process that still has the -wal of before cannot mix
// with those that follow.
func (p place) adopt(ctx context.Context, m mark, now identity) error {
	known := m.identity.main == now.main && m.identity.wal == now.wal // then the -wal has commits that count
	if !known {
		if err := p.refuseStrange(m); err != nil {
			return err
		}
		if err := p.setAside(); err != nil {
			return err
		}
	}
	l, err := dial(p, "", nil)
	if err != nil {
		return err
	}
	err = p.begin(ctx, l)
	return errors.Join(err, l.Close(), p.sync())
}

// refuseStrange refuses a file that nobody has marked beside a -wal with commits: it is the database of
// another program, whose tables are all in the -wal. Beside an empty file they are those of one that was
// deleted.
func (p place) refuseStrange(m mark) error {
	main, err := os.Stat(p.main)
	if err != nil || main.Size() == 0 || m.application != 0 {
		return err
	}
	if wal, err := os.Stat(p.main + walEnd); err == nil && wal.Size() > 0 {
		return refuse("%s has commits, and nothing says that they are of Quorate: choose another path, or delete the file with its -wal and -shm if they are of no use", p.main+walEnd)
	}
	return nil
}

// begin begins a life of the files. When it returns, the main file says which they are.
func (p place) begin(ctx context.Context, l *link) error {
	run := func(text string) error {
		_, err := l.ExecContext(ctx, text, nil)
		return err
	}
	// The locking mode comes first: with it, SQLite keeps in memory what the -shm has.
	err := run("PRAGMA locking_mode = EXCLUSIVE")
	if err == nil {
		err = whileBusy(ctx, func() error { return run(settings + "BEGIN EXCLUSIVE; COMMIT") })
	}
	if isBusy(err) {
		return meaning{fmt.Errorf("another process still has the file open with a -wal or -shm that was deleted: end it if it hangs (%w)", err), errBusy}
	}
	if err != nil {
		return err
	}
	if err := l.markFile(ctx); err != nil {
		return err
	}
	got, err := l.value(ctx, "PRAGMA journal_mode = WAL")
	if err == nil && got != "wal" {
		err = refuse("its journal_mode cannot be changed from %v to wal: look which program uses it", got)
	}
	if err == nil {
		err = l.migrate(ctx)
	}
	if err == nil {
		err = p.createShm()
	}
	if err != nil {
		return err
	}
	return p.writeIdentity(ctx, l)
}

// writeIdentity writes which files belong together, into the main one.
func (p place) writeIdentity(ctx context.Context, l *link) error {
	id, err := p.identify()
	if err != nil {
		return err
	}
	if _, err := l.driverConn.ExecContext(ctx, "UPDATE life SET number = number + 1, server = ?, namespace = iif(namespace = '', ?, namespace)",
		[]driver.NamedValue{{Ordinal: 1, Value: id.String()}, {Ordinal: 2, Value: p.namespace}}); err != nil {
		return err
	}
	return l.checkpoint(ctx)
}

// markFile marks a new file as one of Quorate. That goes straight into the main file, as there is no
// -wal yet.
func (l *link) markFile(ctx context.Context) error {
	var f file
	if err := l.look(ctx, &f); err != nil {
		return err
	}
	if f.application == 0 && f.tables == 0 {
		_, err := l.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID), nil)
		return err
	}
	return f.check()
}

// migrate brings the schema to the version of this release.
func (l *link) migrate(ctx context.Context) error {
	got, err := l.value(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	from, _ := got.(int64)
	for _, m := range steps()[from:] {
		step := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA user_version = %d; COMMIT", m.SQL, m.Version)
		if _, err := l.ExecContext(ctx, step, nil); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}
