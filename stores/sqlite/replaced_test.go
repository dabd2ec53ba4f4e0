package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A replacement is something that people do to the files while replicas run.
type replacement struct {
	name    string
	forgets bool // what was committed may be missing afterwards
	do      func(t *testing.T, path string)
}

func replacements() []replacement {
	return []replacement{
		{"another moved over it", true, func(t *testing.T, path string) {
			t.Helper()
			other := filepath.Join(t.TempDir(), "other.db")
			s := newServer(other, client, timeout)
			if _, err := claimNext(t.Context(), s, "other"); err != nil {
				t.Fatal(err)
			}
			s.Close()
			rename(t, other, path)
		}},
		{"backup moved over it", true, func(t *testing.T, path string) { t.Helper(); rename(t, path+".backup", path) }},
		{"deleted", true, func(t *testing.T, path string) { t.Helper(); remove(t, path) }},
		{"all deleted", true, func(t *testing.T, path string) { t.Helper(); remove(t, path, path+walEnd, path+shmEnd) }},
		{"all deleted, then backup", true, func(t *testing.T, path string) {
			t.Helper()
			remove(t, path, path+walEnd, path+shmEnd)
			rename(t, path+".backup", path)
		}},
		{"wal and shm deleted", false, func(t *testing.T, path string) { t.Helper(); remove(t, path+walEnd, path+shmEnd) }},
		{"shm deleted", false, func(t *testing.T, path string) { t.Helper(); remove(t, path+shmEnd) }},
		{"wal deleted", false, func(t *testing.T, path string) { t.Helper(); remove(t, path+walEnd) }},
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplaced replaces files while three processes claim numbers. All of them notice it: nobody takes
// what it does in the old files for done, and each number is won once in an incarnation.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for _, r := range replacements() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for range length.Of(1, 20) {
				r.run(t)
			}
		})
	}
}

func (r replacement) run(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quorate.db")
	workers := []*worker{startWorker(t, path), startWorker(t, path), startWorker(t, path)}
	for _, w := range workers {
		w.await(t, time.Time{})
	}
	backup(t, path, path+".backup")
	before := workers[0].await(t, time.Now()).incarnation
	r.do(t, path)
	replaced := time.Now()
	var all, later []win
	for _, w := range workers {
		w.await(t, replaced)
	}
	for _, w := range workers {
		w.kill()
		all = append(all, w.won()...)
	}
	for _, w := range all {
		if w.incarnation != before {
			later = append(later, w)
		} else if w.began.After(replaced) {
			t.Errorf("%d was won in the files of before, %v after they were replaced", w.number, w.began.Sub(replaced))
		}
	}
	checkWhole(t, path)
	if r.forgets {
		checkWins(t, path, later)
	} else {
		checkWins(t, path, all)
	}
}

// What a connection commits while its files are replaced may be lost, and so may what it has read be.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, r := range replacements() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "quorate.db")
			s := newStore(t, path, client)
			if _, err := claimNext(t.Context(), s, "a"); err != nil {
				t.Fatal(err)
			}
			backup(t, path, path+".backup")
			conn, err := s.dialect.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := s.dialect.Kept(conn); err != nil {
				t.Errorf("before: %v", err)
			}
			r.do(t, path)
			if err := s.dialect.Kept(conn); err == nil || !kv.Unknown(s.dialect.Failure(t.Context(), "commit", err)) {
				t.Errorf("afterwards: %v, want that nobody knows", err)
			}
		})
	}
}

// A process saves what is in a -wal without a name before it leaves, although another process, which is
// frozen and never comes back, has the files open, too. Until that has ended, nobody uses other files.
func TestSaved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	s, w := newStore(t, path, client), startWorker(t, path)
	w.await(t, time.Time{})
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(t.Context(), counter); err != nil {
		t.Fatal(err)
	}
	remove(t, path+walEnd, path+shmEnd)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := s.Read(ctx, counter); err == nil {
		t.Error("other files are in use beside those of a process that has not ended")
	} else if !strings.Contains(err.Error(), "if it hangs") || kv.Unknown(err) {
		t.Errorf("Read: %v, want what to do, and that nothing was changed", err)
	}
	w.kill()
	if _, _, err := s.Read(t.Context(), counter); err != nil {
		t.Fatal(err)
	}
	checkWins(t, path, w.won())
	checkWhole(t, path)
}
