package mysql

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// requiredVersion is the version of the tables that a program must know to use those of this release. Raise
// it with a migration that breaks the previous release.
const requiredVersion = 1

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are all steps, in order.
func Migrations() []kv.Migration { return kv.MigrationsIn(migrations) }

// SQL before all migrations, and after each one. The table of the steps is made first. Views keep how the
// session that made them read texts. MariaDB needs a mode besides, else GRANT makes a user that does not
// exist, without a password.
const (
	readTexts = "SET NAMES utf8mb4, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'" +
		" /*M! , sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION' */;\n"
	makeDatabase = "CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4;\n"
	makeSteps    = `CREATE TABLE IF NOT EXISTS {database}.migrations (
    version int          NOT NULL,
    name    varchar(100) NOT NULL,
    needs   int          NOT NULL, -- the last step that a program must know to use the tables
    PRIMARY KEY (version)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='Quorate: the steps that were made';
`
	afterStep = "INSERT IGNORE INTO {database}.migrations (version, name, needs) VALUES (%d, '%s', %d);\n"
)

// findOthers finds a table of another program: its name could clash with that of a later step.
const findOthers = `FROM information_schema.tables WHERE table_schema = {literal} AND table_type <> 'VIEW' AND table_comment NOT LIKE 'Quorate: %'`

// refuseOthers ends a script with an error that has the name of such a table: a column that does not exist.
// Outside of a procedure, MySQL and MariaDB share no other way to fail with a text of one's own.
const refuseOthers = "-- Ends here, with an unknown column, if the database has tables of other programs: choose another namespace.\n" +
	"SET @quorate = (SELECT IF(COUNT(*) = 0, 'DO 0', CONCAT('DO `not of Quorate: ', MIN(table_name), '`')) " + findOthers + ");\n" +
	"PREPARE quorate FROM @quorate;\nEXECUTE quorate;\nDEALLOCATE PREPARE quorate;\n"

// Script is the SQL that brings a database from a version, 0 for none, to that of this release. An
// empty name is [DefaultDatabase].
func Script(database string, from int) string {
	var all strings.Builder
	all.WriteString(readTexts)
	if from == 0 {
		all.WriteString(makeDatabase + refuseOthers + makeSteps)
	}
	for _, m := range Migrations()[from:] {
		fmt.Fprintf(&all, "\n-- %s\n\n%s\n"+afterStep, m.Name, m.SQL, m.Version, m.Name, requiredVersion)
	}
	return in(database, all.String())
}

// in is a text for a database, whose name it quotes.
func in(database, text string) string {
	database = cmp.Or(database, DefaultDatabase)
	literal := "'" + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(database) + "'"
	return strings.NewReplacer("{database}", quoted(database), "{literal}", literal).Replace(text)
}

// quoted is the name of a database or a table.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// grants let replicas work, and people read the views. To lock a row takes the right to change it.
const grants = readTexts + `GRANT SELECT, INSERT, UPDATE, DELETE ON {database}.records TO {role};
GRANT SELECT, INSERT, UPDATE ON {database}.slots TO {role};
GRANT SELECT, UPDATE ON {database}.life TO {role};
GRANT SELECT ON {database}.migrations TO {role};
GRANT SELECT ON {database}.runs TO {role};
GRANT SELECT ON {database}.ticks TO {role};
`

// Grants is the SQL that lets a user, which must exist, do what a replica does, and no more. The role is a
// name, for any host, or has the form name@host.
func Grants(database, role string) string {
	name, host := role, "%"
	if at := strings.LastIndexByte(role, '@'); at > 0 {
		name, host = role[:at], role[at+1:]
	}
	return in(database, strings.ReplaceAll(grants, "{role}", quoted(name)+"@"+quoted(host)))
}

// Migrations implements [kv.Migrator].
func (s *server) Migrations() []kv.Migration { return Migrations() }

// Script implements [kv.Migrator].
func (s *server) Script(from int) string { return Script(s.database, from) }

// Grants implements [kv.Migrator].
func (s *server) Grants(role string) string { return Grants(s.database, role) }

// statements are those of a script. They end with a semicolon at the end of a line.
func statements(script string) (list []string) {
	for statement := range strings.SplitSeq(script, ";\n") {
		if statement = strings.TrimSpace(statement); statement != "" {
			list = append(list, statement)
		}
	}
	return list
}

// Migrate makes the database, or brings it to the version of this release, and returns the steps that
// it has made. Of several that migrate at once, one makes them. A step that a crash has cut short is
// repeated.
func (s *server) Migrate(ctx context.Context) (made []kv.Migration, err error) {
	err = s.locked(ctx, func(conn *sql.Conn) error {
		from, err := s.made(ctx, conn)
		if err != nil || from == len(Migrations()) {
			return err
		}
		if from == 0 {
			if err := s.begin(ctx, conn); err != nil {
				return err
			}
		}
		for _, m := range Migrations()[from:] {
			step := in(s.database, readTexts+m.SQL+fmt.Sprintf(afterStep, m.Version, m.Name, requiredVersion))
			for _, statement := range statements(step) {
				if _, err := conn.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("%s: %w", m.Name, err)
				}
			}
			made = append(made, m)
		}
		return nil
	})
	if err != nil {
		return nil, failure(ctx, s.database, "migrate", err)
	}
	return made, nil
}

// begin makes the database with the table of its steps, unless it belongs to others. If it exists, the user
// needs no right to make databases.
func (s *server) begin(ctx context.Context, conn *sql.Conn) error {
	var exists bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = ?)", s.database).Scan(&exists); err != nil {
		return err
	}
	var other sql.NullString
	if err := conn.QueryRowContext(ctx, in(s.database, "SELECT MIN(table_name) "+findOthers)).Scan(&other); err != nil {
		return err
	}
	if other.Valid {
		return unsuitable("the database %s has tables that are not of Quorate, such as %s: choose another namespace", s.database, other.String)
	}
	script := makeSteps
	if !exists {
		script = makeDatabase + makeSteps
	}
	for _, statement := range statements(in(s.database, script)) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// migrateLock is how long a migration waits for another one whose caller has no deadline.
const migrateLock = 10 * time.Minute

// locked runs f on a connection, and lets no other migration of the database run meanwhile. Nobody else gets
// the connection afterwards, since f may change the settings of its session.
func (s *server) locked(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := s.connection(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	hash := sha256.Sum256([]byte(s.database))
	lock := "quorate migrate " + hex.EncodeToString(hash[:16]) // at most 64 characters
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", lock, int(migrateLock.Seconds())).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return meaning{fmt.Errorf("another migration has not ended within %v", migrateLock), kv.ErrLocked}
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", lock)
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}()
	return f(conn)
}

// readVersion is what errors call Version.
const readVersion = "reading the version"

// Version is the version of the tables, 0 if there are none.
func (s *server) Version(ctx context.Context) (version int, err error) {
	conn, err := s.connection(ctx)
	if err == nil {
		defer func() { _ = conn.Close() }()
		version, err = s.made(ctx, conn)
	}
	if err != nil {
		return 0, failure(ctx, s.database, readVersion, err)
	}
	return version, nil
}

// made is the version of the tables, 0 if there are none. Tables of a newer release count as those of this
// one, so Migrate does not change them.
func (s *server) made(ctx context.Context, conn *sql.Conn) (int, error) {
	version, err := s.version(ctx, conn)
	if c := code(err); c == noSuchTable || c == unknownDatabase {
		return 0, nil
	}
	return min(version, len(Migrations())), err
}

// version is that of the tables. The error matches kv.ErrNotReady if this release is too old for them.
func (s *server) version(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var needed int
	err = conn.QueryRowContext(ctx, in(s.database, "SELECT COALESCE(MAX(version), 0), COALESCE(MAX(needs), 0) FROM {database}.migrations")).Scan(&version, &needed)
	if known := len(Migrations()); err == nil && needed > known {
		err = fmt.Errorf("%w for this release: its tables require a release that knows version %d, and this one knows %d: upgrade quorate", kv.ErrNotReady, needed, known)
	}
	return version, err
}

// findEngines finds a table that could not keep a transaction whole.
const findEngines = `SELECT CONCAT(table_name, ' has the engine ', engine) FROM information_schema.tables
	WHERE table_schema = {literal} AND table_comment LIKE 'Quorate: %' AND engine <> 'InnoDB' LIMIT 1`

// checkTables checks that the tables have at least the version of this release, that this release may
// use them, and that they take part in transactions.
func (s *server) checkTables(ctx context.Context, conn *sql.Conn) error {
	version, err := s.version(ctx, conn)
	switch wanted := len(Migrations()); {
	case err != nil:
		return err
	case version < wanted:
		return fmt.Errorf("%w: its tables have version %d and this release needs %d: run `quorate store migrate`", kv.ErrNotReady, version, wanted)
	}
	var other string
	switch err := conn.QueryRowContext(ctx, in(s.database, findEngines)).Scan(&other); {
	case err == nil:
		return unsuitable("the table %s, and must have InnoDB: run ALTER TABLE … ENGINE=InnoDB", other)
	case !isNoRows(err):
		return err
	}
	return nil
}
