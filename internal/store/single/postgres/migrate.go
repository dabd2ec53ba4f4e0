package postgres

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// requiredVersion is the schema version that a program must know to use the schema of this
// release. Raise it with a migration that breaks the previous release. Replicas of that release that
// start afterwards refuse the schema. Those that run do not look again: stop them before you migrate.
const requiredVersion = 5

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are all steps, in order.
func Migrations() []kv.Migration { return kv.MigrationsIn(migrations) }

// begin starts a transaction that does not depend on settings of the role, the database or a pooler:
// it fixes the settings that change what statements mean, and lifts all timeouts. The loop skips
// transaction_timeout on servers before PostgreSQL 17, which do not have it.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL standard_conforming_strings = on;
SET LOCAL jit = off;
SET LOCAL work_mem = '16MB';
SET LOCAL default_table_access_method = heap;
DO $$ BEGIN
    PERFORM pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout');
END $$;
`

// SQL before all migrations, and after each one. Functions are created with SET search_path FROM
// CURRENT, so they keep the search path of beforeSteps. Each migration revokes the rights to its
// functions from PUBLIC.
const (
	beforeSteps = "SET LOCAL search_path = {schema}, pg_temp;\n"
	afterStep   = "INSERT INTO migrations (version, name, needs) VALUES (%d, '%s', %d);\n"
)

// beforeFirst creates the schema unless it exists. If it exists, the role needs no right to create
// schemas in the database. A schema with objects of other programs is refused: their names could
// clash, and a restore of Quorate's schema drops it first.
const beforeFirst = `
DO $$
DECLARE
    existing regnamespace := to_regnamespace({schema_literal});
    other text := (SELECT min(pg_describe_object(classid, objid, objsubid)) FROM pg_depend
        WHERE refclassid = 'pg_namespace'::regclass AND deptype = 'n' AND refobjid = existing);
BEGIN
    IF other IS NOT NULL THEN
        RAISE duplicate_schema USING MESSAGE =
            format('the schema %s has objects that are not of Quorate, such as %s: choose another namespace', existing, other);
    ELSIF existing IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END $$;
`

// Script is the SQL that brings a schema from a version, 0 for none, to that of this
// release. An empty schema is [DefaultSchema].
func Script(schema string, from int) string {
	return begin + script(quoted(schema), from) + "COMMIT;\n"
}

// script is Script without BEGIN and COMMIT. The name of the schema is already quoted.
func script(quotedSchema string, from int) string {
	var steps strings.Builder
	if from == 0 {
		steps.WriteString(beforeFirst)
	}
	for _, m := range Migrations()[from:] {
		fmt.Fprintf(&steps, "\n-- %s\n\n%s"+afterStep, m.Name, m.SQL, m.Version, m.Name, requiredVersion)
	}
	literal := "'" + strings.ReplaceAll(quotedSchema, "'", "''") + "'"
	return strings.NewReplacer("{schema}", quotedSchema, "{schema_literal}", literal).Replace(beforeSteps + steps.String())
}

// Grants is the SQL that lets a role do what a replica does, and no more.
func Grants(schema, role string) string { return grantsIn(quoted(schema), role) }

func grantsIn(quotedSchema, role string) string {
	return strings.NewReplacer("{schema}", quotedSchema, "{role}", pgx.Identifier{role}.Sanitize()).Replace(grants)
}

const grants = `GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT EXECUTE ON FUNCTION {schema}.schema_version, {schema}.read_records, {schema}.list_records, {schema}.commit_records, {schema}.commit_group, {schema}.trigger_job, {schema}.finish_run TO {role};
-- For people and their tools: the views, and the functions that the views call.
GRANT SELECT ON {schema}.runs, {schema}.ticks TO {role};
GRANT EXECUTE ON FUNCTION {schema}.without_zeros, {schema}.from_millis, {schema}.is_running, {schema}.number_in, {schema}.read_entry TO {role};
`

func quoted(schema string) string {
	return pgx.Identifier{cmp.Or(schema, DefaultSchema)}.Sanitize()
}

// Migrations implements [kv.Migrator].
func (s *Store) Migrations() []kv.Migration { return Migrations() }

// Script implements [kv.Migrator].
func (s *Store) Script(from int) string { return begin + script(s.schema, from) + "COMMIT;\n" }

// Grants implements [kv.Migrator].
func (s *Store) Grants(role string) string { return grantsIn(s.schema, role) }

var _ kv.Migrator = (*Store)(nil)

// Migrate makes the schema, or brings it to the version of this release, and returns the
// steps that it has made. Of several that migrate at once, one makes them. The role needs
// the right to create a schema, or has to be the one that owns it.
func (s *Store) Migrate(ctx context.Context) ([]kv.Migration, error) {
	var from int
	err := s.inTransaction(ctx, func(tx pgx.Tx) (err error) {
		if from, err = s.lockSchema(ctx, tx); err != nil || from == len(Migrations()) {
			return err
		}
		_, err = tx.Exec(ctx, script(s.schema, from))
		return err
	})
	if err != nil {
		return nil, s.failure(ctx, "migrate", err)
	}
	return Migrations()[from:], nil
}

// Version is the version of the schema, 0 if there is none.
func (s *Store) Version(ctx context.Context) (version int, err error) {
	err = s.inTransaction(ctx, func(tx pgx.Tx) error {
		version, err = s.lockSchema(ctx, tx)
		return err
	})
	if err != nil {
		return 0, s.failure(ctx, "reading the version", err)
	}
	return version, nil
}

// inTransaction runs f in a transaction. Before, it refuses a session whose settings would keep
// replicas with this role from working.
func (s *Store) inTransaction(ctx context.Context, f func(pgx.Tx) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := s.checkSettings(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, f)
}

// lockSchema locks out other migrations until tx ends, checks the server's release and encoding,
// and returns the version of the schema, 0 if there is none. A schema of a newer release counts as
// one of this release, so Migrate does not change it.
func (s *Store) lockSchema(ctx context.Context, tx pgx.Tx) (version int, err error) {
	const lock = `SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('quorate migrate ' || $1, 0))`
	if _, err = tx.Exec(ctx, lock, pgx.QueryExecModeExec, s.schema); err != nil {
		return 0, err
	}
	const server = `SELECT pg_catalog.current_setting('server_version_num')::int, pg_catalog.current_setting('server_encoding'),
		pg_catalog.to_regproc($1) IS NOT NULL`
	var number int
	var encoding string
	var exists bool
	err = tx.QueryRow(ctx, server, pgx.QueryExecModeExec, s.schema+".schema_version").Scan(&number, &encoding, &exists)
	switch {
	case err != nil:
		return 0, err
	case number < oldestServer:
		return 0, fmt.Errorf("%w: the server is older than PostgreSQL %d", kv.ErrNotReady, oldestServer/10_000)
	case encoding != "UTF8":
		return 0, fmt.Errorf("%w: the database has the encoding %s: create one with ENCODING 'UTF8'", kv.ErrNotReady, encoding)
	case !exists:
		return 0, nil
	}
	version, err = s.version(ctx, tx)
	return min(version, len(Migrations())), err
}

// version is that of the schema. The error matches kv.ErrNotReady if this release is too
// old for it.
func (s *Store) version(ctx context.Context, in querier) (version int, err error) {
	var needed int
	err = in.QueryRow(ctx, s.text(`SELECT made, needs FROM {schema}.schema_version()`), pgx.QueryExecModeExec).Scan(&version, &needed)
	if known := len(Migrations()); err == nil && needed > known {
		err = fmt.Errorf("%w for this release: its schema requires a release that knows version %d, and this one knows %d: upgrade quorate", kv.ErrNotReady, needed, known)
	}
	return version, err
}

// A querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}

// check checks, until it has succeeded once, that the schema has at least the version of this
// release and that this release may use it. The session must have no setting that prevents that.
func (s *Store) check(ctx context.Context, conn *pgxpool.Conn) error {
	if s.checked.Load() {
		return nil
	}
	if err := s.checkSettings(ctx, conn); err != nil {
		return err
	}
	version, err := s.version(ctx, conn)
	switch wanted := len(Migrations()); {
	case err != nil:
		return err
	case version < wanted:
		return fmt.Errorf("%w: its schema has version %d and this release needs %d: run `quorate store migrate`, or postgres.Migrate in your program", kv.ErrNotReady, version, wanted)
	}
	s.checked.Store(true)
	return nil
}
