package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// oddDatabase makes a database whose settings change what statements mean, return, or how long
// they may take.
func (w *world) oddDatabase(t *testing.T, name string) (at string) {
	t.Helper()
	w.exec(t, "CREATE DATABASE "+name)
	for _, statement := range []string{
		pgtest.Odd("DATABASE " + name), `ALTER DATABASE ` + name + ` SET lock_timeout = '1ms'`,
		`ALTER DATABASE ` + name + ` SET idle_in_transaction_session_timeout = '1ms'`, `ALTER DATABASE ` + name + ` SET client_encoding = 'LATIN1'`,
		`ALTER DATABASE ` + name + ` SET statement_timeout = '30s'`,
	} {
		w.exec(t, statement)
	}
	at = w.URLOfDatabase(name)
	if _, err := connect(t, at+"&client_encoding=UTF8&standard_conforming_strings=on").Exec(t.Context(), pgtest.OddFunctions); err != nil {
		t.Fatal(err)
	}
	return at
}

// Settings of a role or a database change nothing of what the store does, with and without a
// pooler, whoever makes the schema.
func oddSettings(t *testing.T, w *world) {
	at := w.oddDatabase(t, "odd")
	schemas := 0
	backend := func(url string) kvtest.Backend {
		return kvtest.Backend{Rounds: 100, New: func(t testing.TB) kv.Store {
			schemas++
			s := open(t, postgres.Config{URL: url, Schema: fmt.Sprintf("Odd %d", schemas)})
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}}
	}
	t.Run("Kit", func(t *testing.T) { kvtest.Run(t, backend(at)) })
	t.Run("KitBehindPgBouncer", func(t *testing.T) {
		bouncer := strings.Replace(w.Bouncer(t), "/postgres?", "/odd?", 1)
		kvtest.Run(t, backend(bouncer))
	})
	t.Run("Views", func(t *testing.T) {
		s := backend(at).New(t)
		storetest.StoreLedger(t, s)
		var text string
		query := fmt.Sprintf(`SELECT error FROM "Odd %d".runs WHERE job = 'report' AND token = 1`, schemas)
		if err := connect(t, at+"&client_encoding=UTF8").QueryRow(t.Context(), query).Scan(&text); err != nil || text != "it broke: \\u0000 \ufffd\ufffd" {
			t.Errorf("the error is %q, %v", text, err)
		}
	})
	t.Run("Script", func(t *testing.T) {
		w.Psql(t, at+"&options=-c%20idle_in_transaction_session_timeout%3D0", postgres.Script("Odd script", 0))
		s := open(t, postgres.Config{URL: at, Schema: "Odd script"})
		write(t, s, `"é"`)
		storetest.StoreLedger(t, s)
		var text string
		if err := connect(t, at+"&client_encoding=UTF8").QueryRow(t.Context(), `SELECT error FROM "Odd script".runs WHERE job = 'report' AND token = 1`).Scan(&text); err != nil || text != "it broke: \\u0000 \ufffd\ufffd" {
			t.Errorf("the error is %q, %v", text, err)
		}
	})
}

// Settings with which no statement can work are refused by name, wherever they come from; and as
// soon as they are mended all works.
func refusedSettings(t *testing.T, w *world) {
	schema := w.migrated(t)
	for i, setting := range []struct{ name, value string }{
		{"default_transaction_isolation", "serializable"},
		{"default_transaction_isolation", "repeatable read"},
		{"default_transaction_read_only", "on"},
		{"statement_timeout", "100ms"},
		{"statement_timeout", "1ms"},
		{"idle_session_timeout", "1s"},
		{"idle_session_timeout", "1ms"},
	} {
		role := fmt.Sprintf("unsuited%d", i)
		w.exec(t, fmt.Sprintf(`CREATE ROLE %[1]s SUPERUSER LOGIN PASSWORD 'hush'; ALTER ROLE %[1]s SET %[2]s = '%[3]s'`, role, setting.name, setting.value))
		for from, url := range map[string]string{
			"role":                  w.urlAs(role),
			"role, by any TLS":      strings.Replace(w.urlAs(role), "disable", "prefer", 1),
			"role, several servers": strings.Replace(w.urlAs(role), w.Addr(), w.Addr()+","+w.Addr(), 1),
			"URL":                   w.URL() + "&" + setting.name + "=" + strings.ReplaceAll(setting.value, " ", "%20"),
		} {
			s := open(t, postgres.Config{URL: url + "&pool_max_conns=1", Schema: schema, Timeout: 1e9})
			_, _, read := s.Read(t.Context(), keyX)
			_, commit := s.Commit(t.Context(), kv.Txn{Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`1`)}}})
			_, check := s.Check(t.Context())
			_, migrate := s.Migrate(t.Context())
			_, version := s.Version(t.Context())
			for _, err := range []error{read, commit, check, migrate, version} {
				if err == nil || !strings.Contains(err.Error(), setting.name) || strings.Contains(err.Error(), kv.ErrUnavailable.Error()) {
					t.Errorf("%s of the %s: %v, want its name", setting.name, from, err)
				} else if from != "role, several servers" && !errors.Is(err, kv.ErrNotReady) {
					t.Errorf("%s of the %s: %v, want %v", setting.name, from, err, kv.ErrNotReady)
				}
			}
		}
		s := w.openIn(t, schema, w.urlAs(role)+"&pool_max_conns=1")
		_, _, _ = s.Read(t.Context(), keyX)
		w.exec(t, `ALTER ROLE `+role+` RESET ALL`)
		wants(t, s, "")
	}
}

// A setting that changes while a replica works is named by the calls that it breaks, and not kept.
func changedSettings(t *testing.T, w *world) {
	w.exec(t, `CREATE ROLE changing LOGIN PASSWORD 'hush'`)
	schema := w.migrated(t)
	w.exec(t, postgres.Grants(schema, "changing"))
	s := w.openIn(t, schema, w.urlAs("changing"))
	incarnation := write(t, s, `1`).Stamp.Incarnation
	for _, setting := range []string{"default_transaction_isolation = 'serializable'", "default_transaction_read_only = on"} {
		name, _, _ := strings.Cut(setting, " ")
		w.exec(t, `ALTER ROLE changing SET `+setting)
		w.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'changing'`)
		awaitCommit(t, s, incarnation, func(err error) bool { return errors.Is(err, kv.ErrNotReady) && strings.Contains(err.Error(), name) })
		w.exec(t, `ALTER ROLE changing RESET ALL`)
		awaitCommit(t, s, incarnation, func(err error) bool { return err == nil })
	}
}

// awaitCommit commits until the error is as wanted. The first calls may find connections that
// have ended.
func awaitCommit(t *testing.T, s kv.Store, incarnation string, so func(error) bool) {
	t.Helper()
	var err error
	for range 20 {
		_, err = s.Commit(t.Context(), kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`2`)}}})
		if so(err) {
			return
		}
	}
	t.Errorf("Commit = %v", err)
}

// A call that gets no connection, since all are in use, says so: the server may be well.
func exhausted(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.URL()+"&pool_max_conns=1")
	incarnation := write(t, s, `1`).Stamp.Incarnation
	tx, err := connect(t, w.URL()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slow := `SELECT ` + pgx.Identifier{schema}.Sanitize() + `.commit_records($1, false, 0, '{put}', '{claim}', '{x}', '{""}', '{-1}', '{2}')`
	if _, err := tx.Exec(t.Context(), slow, incarnation); err != nil {
		t.Fatal(err)
	}
	waiting, giveUp := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { // waits for the lock, with the only connection
		_, err := s.Commit(waiting, kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`3`)}}})
		ended <- err
	}()
	for text := ""; !strings.Contains(text, "in use"); {
		ctx, cancel := context.WithTimeout(t.Context(), 50e6)
		_, _, err := s.Read(ctx, keyX)
		cancel()
		if err == nil {
			continue // the other has not begun
		}
		if text = err.Error(); !errors.Is(err, kv.ErrNotSent) || strings.Count(text, "deadline exceeded") > 1 || strings.Contains(text, kv.ErrUnavailable.Error()) {
			t.Errorf("Read = %v, want that all connections are in use", err)
			break
		}
	}
	giveUp()
	<-ended
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(t.Context(), keyX); err != nil {
		t.Errorf("with a free connection: Read = %v", err)
	}
}
