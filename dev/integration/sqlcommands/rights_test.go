package sqlcommands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/commands"
)

// Roles with few rights have those only, whatever they shadow, lock, roll back, or let lie.
func TestRolesWithFewRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	w := newWorldOn(t, server)
	owner := sqltest.Open(t, "pgx", server.URL())
	for _, statement := range []string{
		"CREATE ROLE finisher LOGIN", "CREATE ROLE allofit LOGIN", "CREATE ROLE outsider LOGIN", "CREATE ROLE reader LOGIN", "GRANT app TO allofit",
		"GRANT USAGE ON SCHEMA quorate TO finisher, allofit, outsider, reader",
		"GRANT EXECUTE ON FUNCTION quorate.finish_run TO finisher, allofit", "GRANT EXECUTE ON FUNCTION quorate.trigger_job TO allofit",
		"GRANT SELECT ON quorate.runs, quorate.ticks TO reader",
		"GRANT EXECUTE ON FUNCTION quorate.without_zeros, quorate.from_millis, quorate.is_running, quorate.number_in, quorate.read_entry TO reader",
	} {
		if _, err := owner.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	connect := func(role string) *pgx.Conn {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), strings.Replace(server.URL(), "postgres@", role+"@", 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "SET exit_on_error = off"); err != nil { // one of the odd settings of app
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		return conn
	}
	granted := map[string][]string{
		"app": {"trigger_job"}, "finisher": {"finish_run"}, "allofit": {"finish_run", "trigger_job"}, "outsider": nil,
		"reader": {"from_millis", "is_running", "number_in", "read_entry", "without_zeros"},
	}
	for role, want := range granted {
		conn := connect(role)
		rows, err := conn.Query(t.Context(), `SELECT proname::text FROM pg_proc p
			WHERE pronamespace = 'quorate'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		if may, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || !slices.Equal(may, want) {
			t.Errorf("%s may call %v, %v; want %v", role, may, err, want)
		}
		for _, statement := range []string{
			"SELECT FROM quorate.records", "SELECT FROM quorate.places", "UPDATE quorate.places SET act = 'x'", "SELECT nextval('quorate.versions')",
			"LOCK TABLE quorate.records IN ACCESS SHARE MODE", "LOCK TABLE quorate.runs IN ROW SHARE MODE", "LOCK TABLE quorate.ticks IN ACCESS EXCLUSIVE MODE",
			"SELECT FROM quorate.runs FOR UPDATE", "SELECT FROM quorate.ticks FOR SHARE", "DELETE FROM quorate.runs", "UPDATE quorate.ticks SET job = 'x'",
			"CREATE TABLE quorate.x ()", "CREATE FUNCTION quorate.x() RETURNS int LANGUAGE sql RETURN 1", "CREATE TRIGGER x BEFORE INSERT ON quorate.records EXECUTE FUNCTION suppress_redundant_updates_trigger()",
			"ALTER FUNCTION quorate.trigger_job SECURITY INVOKER", "CREATE OR REPLACE VIEW quorate.runs AS SELECT 1", "TRUNCATE quorate.records", "VACUUM FULL quorate.records", "SET ROLE postgres",
			"COMMENT ON TABLE quorate.records IS 'x'", "CREATE RULE x AS ON SELECT TO quorate.runs DO INSTEAD NOTHING",
		} {
			tag, err := conn.Exec(t.Context(), "BEGIN; "+statement)
			if err == nil && !strings.HasPrefix(statement, "VACUUM") {
				t.Errorf("%s: %s = %v", role, statement, tag)
			}
			if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	}

	// What the caller has of its own under the names that the functions use is not used.
	caller := connect("allofit")
	if _, err := caller.Exec(t.Context(), `
		CREATE TEMP TABLE records (kind text, name text, sub text, version bigint, value json);
		CREATE TEMP TABLE places (n int, command text);
		CREATE TEMP SEQUENCE versions;
		CREATE DOMAIN pg_temp.json AS text;
		CREATE FUNCTION pg_temp.stolen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
		CREATE TRIGGER stolen BEFORE INSERT OR UPDATE ON records FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.stolen();
		CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
		CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
		CREATE FUNCTION pg_temp.unfit(json) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
		CREATE FUNCTION pg_temp.same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
		CREATE OPERATOR pg_temp.= (FUNCTION = pg_temp.same, LEFTARG = text, RIGHTARG = text);
		SET search_path = pg_temp, pg_catalog;
		SET transform_null_equals = on;
		SET array_nulls = off`); err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Exec(t.Context(), `SET ROLE app; SELECT quorate.trigger_job('invoice', '{"n":1}'::pg_catalog.json, id => 'shadowed', asked_by => 'eve'); RESET ROLE`); err != nil {
		t.Errorf("with a schema of its own before: %v", err)
	}
	if _, err := caller.Exec(t.Context(), `SELECT quorate.finish_run('invoice', 1, 'AAAAAAAAAAAAAAAAAAAAAAAAAA', '{"v":2,"outcome":"succeeded"}'::pg_catalog.json)`); err == nil || !strings.Contains(err.Error(), "QF002") {
		t.Errorf("a stranger's end: %v", err)
	}
	var shadows int
	if err := caller.QueryRow(t.Context(), "SELECT count(*) FROM pg_temp.records").Scan(&shadows); err != nil || shadows > 0 {
		t.Errorf("%d records are in the caller's own table, %v", shadows, err)
	}
	open, err := w.commands.Open(t.Context())
	if err != nil || len(open.Requests) != 1 || open.Requests[0].ID != "shadowed" || open.Requests[0].By != "eve as allofit" {
		t.Errorf("open are %+v, %v", open.Requests, err)
	}

	// What is rolled back to a savepoint takes no place.
	app := connect("app")
	if _, err := app.Exec(t.Context(), `DO $$ BEGIN FOR i IN 1 .. 1500 LOOP
		BEGIN PERFORM quorate.trigger_job('j', id => 's' || i); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END;
	END LOOP; END $$`); err != nil {
		t.Errorf("requests that are rolled back to savepoints: %v", err)
	}
	// A transaction that is left open keeps nobody from asking, if it has not taken all places. Neither it
	// nor refused calls of a stranger keep replicas waiting.
	if _, err := app.Exec(t.Context(), "BEGIN; SELECT quorate.trigger_job('j', id => 'left-' || i) FROM generate_series(1, 500) i"); err != nil {
		t.Fatal(err)
	}
	finisher := connect("finisher")
	if _, err := finisher.Exec(t.Context(), `BEGIN; DO $$ BEGIN FOR i IN 1 .. 100 LOOP
		BEGIN PERFORM quorate.finish_run('j', i, 'AAAAAAAAAAAAAAAAAAAAAAAAAA', '{"v":2,"outcome":"succeeded"}'); EXCEPTION WHEN SQLSTATE 'QF002' THEN END;
	END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
	var locks int
	if err := finisher.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").Scan(&locks); err != nil || locks > 0 {
		t.Errorf("a stranger's refused calls hold %d locks, %v", locks, err)
	}
	reader := connect("reader")
	if _, err := reader.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE quorate.runs, quorate.ticks IN ACCESS SHARE MODE; SELECT count(*) FROM quorate.ticks"); err != nil {
		t.Errorf("a reader: %v", err)
	}
	for n := range 20 {
		if _, err := w.commands.Do(t.Context(), commands.Command{ID: fmt.Sprint("r", n), Kind: commands.Trigger, Job: fmt.Sprint("job", n)}); err != nil {
			t.Fatalf("a replica's request beside them: %v", err)
		}
	}
	if err := w.inPgx(command("beside", 1), nil); err != nil {
		t.Errorf("an application's request beside them: %v", err)
	}
	if list, _, err := w.store.List(t.Context(), kv.Of(kv.Commands, "queue")); err != nil || len(list[0]) != 1 {
		t.Errorf("queued are %d, %v", len(list[0]), err)
	}
}
