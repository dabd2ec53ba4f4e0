package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// sqlOn runs statements on a file, as another program would.
func sqlOn(tb testing.TB, path string, statements ...string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := db.ExecContext(tb.Context(), text); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
	}
}

// TestRefused opens what cannot be used. The error says what to do, and nothing was changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string // in a directory of its own, unless it is absolute
		make func(t *testing.T, path string)
		want string
	}{
		"no path":          {"", nil, "there is no path: write"},
		"memory":           {":memory:", nil, `":memory:" is not the path of a file: write one`},
		"URI":              {"file:quorate.db?mode=ro", nil, "is not the path of a file: write one"},
		"no directory":     {"none/quorate.db", nil, "create it, and give it to the user"},
		"directory":        {"dir", func(t *testing.T, path string) { t.Helper(); makeDir(t, path) }, "is not a regular file: choose another path"},
		"pseudo files":     {"/proc/quorate.db", nil, "replicas on several hosts need another store"},
		"other program":    {"a.db", func(t *testing.T, path string) { t.Helper(); sqlOn(t, path, "CREATE TABLE t (a)") }, "it is a database of another program: choose another path"},
		"other, in WAL":    {"a.db", otherInWAL, "has commits, and nothing says that they are of Quorate"},
		"no database":      {"a.db", func(t *testing.T, path string) { t.Helper(); write(t, path, strings.Repeat("text ", 1000)) }, "it is not a database of SQLite: choose another path"},
		"later release":    {"a.db", later, "its schema has version 99, and this release knows 1: upgrade quorate"},
		"other namespace":  {"a.db", ofNamespace, "it belongs to the namespace others, and the configuration says shared: choose another path"},
		"UTF-16":           {"a.db", utf16, "its encoding is UTF-16le: only UTF-8 can be used; choose another path"},
		"damaged":          {"a.db", damaged, "the file is damaged: if `store check` finds it damaged, too, end all processes that use it, put a backup in its place"},
		"without its life": {"a.db", lifeless, "so another program has changed it: put a backup in its place"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.path
			if c.want != "" && !filepath.IsAbs(path) && path != "" && !strings.Contains(path, ":") {
				path = filepath.Join(t.TempDir(), path)
			}
			if c.make != nil {
				c.make(t, path)
			}
			s := newStore(t, path, client)
			_, _, err := s.Read(t.Context(), counter)
			if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Read: %v, want %q", err, c.want)
			}
			if _, err := s.Commit(t.Context(), kv.Txn{Put: []kv.Write{{Key: counter, Value: []byte("1")}}}); err == nil || kv.Unknown(err) {
				t.Errorf("Commit: %v, want that nothing was changed", err)
			}
		})
	}
}

func makeDir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// otherInWAL is a database of another program that has all its tables in its -wal, as after a crash.
func otherInWAL(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, text := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE t (a)"} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// used is a file that was used in a namespace.
func used(t *testing.T, path, namespace string) {
	t.Helper()
	s := newServer(path, namespace, timeout)
	defer s.Close()
	if _, err := claimNext(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
}

func later(t *testing.T, path string) {
	t.Helper()
	used(t, path, client)
	sqlOn(t, path, "PRAGMA user_version = 99")
}

func ofNamespace(t *testing.T, path string) { t.Helper(); used(t, path, "others") }

func utf16(t *testing.T, path string) {
	t.Helper()
	sqlOn(t, path, "PRAGMA encoding = 'UTF-16le'", "PRAGMA application_id = 1366650738", "CREATE TABLE t (a)")
}

func lifeless(t *testing.T, path string) {
	t.Helper()
	used(t, path, client)
	sqlOn(t, path, "DELETE FROM life")
}

// damaged is a file whose pages, but for the first, have other bytes.
func damaged(t *testing.T, path string) {
	t.Helper()
	used(t, path, client)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] = 0xa5
	}
	write(t, path, string(text))
}

// A store waits for the right to write as long as its caller does, and says that nothing was changed.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	s := newStore(t, path, client)
	if _, err := claimNext(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := claimNext(ctx, s, "b"); !errors.Is(err, kv.ErrLocked) || kv.Unknown(err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Commit: %v, want in one line that another process writes", err)
	}
	if _, err := db.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if w, err := claimNext(t.Context(), s, "b"); err != nil || w.number != 2 {
		t.Errorf("Commit: %+v, %v, want the number 2", w, err)
	}
}

// The files have the output of jobs: only their owner reads them.
func TestModes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	s := newStore(t, path, client)
	if _, err := claimNext(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", walEnd, shmEnd} {
		if info, err := os.Stat(path + end); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v, want that only the owner may read", end, info, err)
		}
	}
}

// A file that others may read, since somebody made it before the store did, is usable and named.
func TestCheckNamesTheMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	write(t, path, "")
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // that is the mistake
		t.Fatal(err)
	}
	used(t, path, "shared")
	s := newServer(path, "shared", timeout)
	defer s.Close()
	c, err := s.Check(t.Context())
	if err != nil || len(c.Findings) != 1 || !c.Findings[0].Mend || !strings.Contains(c.Findings[0].Text, "its mode is 0644; run chmod 600") {
		t.Errorf("%+v, %v", c.Findings, err)
	}
}
