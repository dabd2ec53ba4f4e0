package mysql

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// What is up to date stays as it is, with its records.
func migrateAgain(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "again")
	s := opened(t, source{fresh: at(on.URL()), database: "again"})
	write(t, s, `1`)
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("migrated again: %v, %v", made, err)
	}
	wants(t, s, `1`)
	if version, err := s.Version(t.Context()); err != nil || version != len(Migrations()) {
		t.Errorf("Version = %d, %v", version, err)
	}
}

func migrateAtOnce(t *testing.T, on *mysqltest.Server) {
	const replicas = 5
	steps, errs := make([]int, replicas), make([]error, replicas)
	var running sync.WaitGroup
	for who := range replicas {
		s := opened(t, source{fresh: at(on.URL()), database: "at `once`"})
		running.Go(func() {
			var made []kv.Migration
			made, errs[who] = s.Migrate(t.Context())
			steps[who] = len(made)
		})
	}
	running.Wait()
	total := 0
	for who := range replicas {
		if errs[who] != nil {
			t.Error(errs[who])
		}
		total += steps[who]
	}
	if total != len(Migrations()) {
		t.Errorf("each of %d made so many steps: %v", replicas, steps)
	}
	wants(t, opened(t, source{fresh: at(on.URL()), database: "at `once`"}), "")
}

// A migration that a crash has cut short, between any two of its statements, is made by the next.
func migrateAfterACrash(t *testing.T, on *mysqltest.Server) {
	all := statements(Script("x", 0))
	for made := range all {
		database := fmt.Sprintf("crash %d", made)
		on.Exec(t, statements(Script(database, 0))[:made]...)
		migrate(t, on, database)
		s := opened(t, source{fresh: at(on.URL()), database: database})
		write(t, s, `1`)
		for table, want := range map[string]string{"slots": "1040", "life": "1", "migrations": fmt.Sprint(len(Migrations()))} {
			if got := on.Value(t, in(database, "SELECT COUNT(*) FROM {database}."+table), ""); got != want {
				t.Errorf("after %d statements %s has %s rows", made, table, got)
			}
		}
	}
}

// An administrator can run the script instead.
func script(t *testing.T, on *mysqltest.Server) {
	for range 2 { // it may be repeated
		on.Exec(t, statements(Script("by script", 0))...)
	}
	s := opened(t, source{fresh: at(on.URL()), database: "by script"})
	write(t, s, `1`)
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("after the script migrated %v, %v", made, err)
	}
}

// A database that the application has is refused, and stays as it is.
func othersTables(t *testing.T, on *mysqltest.Server) {
	on.Exec(t, "CREATE DATABASE app", "CREATE TABLE app.orders (id INT)")
	s := opened(t, source{fresh: at(on.URL()), database: "app"})
	_, err := s.Migrate(t.Context())
	if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "orders") || !strings.Contains(err.Error(), "choose another namespace") {
		t.Errorf("beside a table: %v, want %v and what to do", err, kv.ErrNotReady)
	}
	db, err2 := on.DB(t).Conn(t.Context())
	if err2 != nil {
		t.Fatal(err2)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements(Script("app", 0)) {
		if _, err = db.ExecContext(t.Context(), statement); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "not of Quorate: orders") {
		t.Errorf("the script says %v", err)
	}
	if got := on.Value(t, "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = 'app'", ""); got != "orders" {
		t.Errorf("the tables are %s", got)
	}
	// An empty one may be made for a user who has no right to make databases.
	on.Exec(t, "CREATE DATABASE empty", "CREATE USER landlord IDENTIFIED BY 'Geheim1'")
	s = opened(t, source{fresh: at(as(on, "landlord", "Geheim1")), database: "empty"})
	if _, err := s.Migrate(t.Context()); !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "GRANT ALL ON") {
		t.Errorf("without rights: %v, want %v and what to do", err, kv.ErrNotReady)
	}
	on.Exec(t, "GRANT ALL ON empty.* TO landlord")
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Errorf("an empty database: %v", err)
	}
	wants(t, s, "")
}

func notMigrated(t *testing.T, on *mysqltest.Server) {
	s := opened(t, source{fresh: at(on.URL()), database: "later"})
	_, _, read := s.Read(t.Context(), keyX)
	_, _, list := s.List(t.Context(), kv.All(kv.Claims))
	_, commit := s.Commit(t.Context(), kv.Txn{})
	_, check := s.Check(t.Context())
	for _, err := range []error{read, list, commit, check} {
		if !errors.Is(err, kv.ErrNotReady) || errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "quorate store migrate") {
			t.Errorf("%v, want %v and what to do", err, kv.ErrNotReady)
		}
	}
	if version, err := s.Version(t.Context()); err != nil || version != 0 {
		t.Errorf("Version = %d, %v", version, err)
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, s, "")
	on.Exec(t, "DROP DATABASE later")
	if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, kv.ErrNotReady) {
		t.Errorf("without its tables: %v", err)
	}
}

// Findings of `store check` name the program that has this store.
func checkNamesProgram(t *testing.T, on *mysqltest.Server) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("namespace: nowhere\nmysql: {url: '"+on.URL()+"'}\njobs: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.App{Name: "quorate-mysql", Registry: jobs.NewRegistry(), Stores: []replica.Store{new(Store)}, In: strings.NewReader(""), Out: &out, Err: &out}.
		Exec(t.Context(), []string{"store", "check", "--config", path})
	if said := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(said, "run `quorate-mysql store migrate`") {
		t.Errorf("store check says %s", said)
	}
}

// Tables of a later release are used if that release says so, and refused otherwise.
func newerTables(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "newer")
	known := len(Migrations())
	on.Exec(t, fmt.Sprintf("INSERT INTO newer.migrations VALUES (%d, 'of a later release', %d)", known+1, known))
	s := opened(t, source{fresh: at(on.URL()), database: "newer"})
	wants(t, s, "")
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("migrated %v, %v", made, err)
	}
	on.Exec(t, fmt.Sprintf("INSERT INTO newer.migrations VALUES (%d, 'of a later release', %d)", known+2, known+2))
	s = opened(t, source{fresh: at(on.URL()), database: "newer"})
	_, _, read := s.Read(t.Context(), keyX)
	_, migrate := s.Migrate(t.Context())
	for _, err := range []error{read, migrate} {
		if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "upgrade quorate") {
			t.Errorf("%v, want that it is too old", err)
		}
	}
}

// A table that takes no part in transactions is refused by name.
func engines(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "engines")
	on.Exec(t, "ALTER TABLE engines.slots ENGINE=Aria ROW_FORMAT=PAGE")
	s := opened(t, source{fresh: at(on.URL()), database: "engines"})
	if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "slots has the engine Aria") {
		t.Errorf("Read = %v, want the name of the table", err)
	}
	on.Exec(t, "ALTER TABLE engines.slots ENGINE=InnoDB ROW_FORMAT=DYNAMIC")
	wants(t, s, "")
}
