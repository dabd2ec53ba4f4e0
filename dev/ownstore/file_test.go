package ownstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/quorate/quorate/internal/store/single/kv"
)

var keyX = kv.Key{Kind: kv.Claims, Name: "x"}

// write puts a value under keyX, and returns the incarnation.
func write(tb testing.TB, s *server, value string) string {
	tb.Helper()
	_, stamp, err := s.Read(tb.Context(), keyX)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := s.Commit(tb.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: keyX, Value: []byte(value)}}})
	if err != nil || !o.Won {
		tb.Fatalf("Commit = %+v, %v", o, err)
	}
	return stamp.Incarnation
}

// backup copies the file while it is in use.
func backup(tb testing.TB, s *server, to string) {
	tb.Helper()
	f, err := s.open()
	if err != nil {
		tb.Fatal(err)
	}
	err = f.db.View(func(tx *bolt.Tx) error {
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = tx.WriteTo(out)
		return errors.Join(err, out.Close())
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func rename(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.Rename(from, to); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Remove(path); err != nil {
		tb.Fatal(err)
	}
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, mode)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestLife begins another incarnation if the file is another one, whether it was in use meanwhile or not.
func TestLife(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(tb testing.TB, path string)
		want string // under keyX; 2 was written after the backup
	}{
		"the same":                    {func(testing.TB, string) {}, "2"},
		"backup moved over it":        {func(tb testing.TB, path string) { tb.Helper(); rename(tb, path+".backup", path) }, "1"},
		"deleted, then backup copied": {func(tb testing.TB, path string) { tb.Helper(); remove(tb, path); copyFile(tb, path+".backup", path) }, "1"},
		"deleted":                     {remove, ""},
	} {
		for _, inUse := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "quorate.bolt")
				s := newServer(t, path, "n")
				before := write(t, s, "1")
				backup(t, s, path+".backup")
				write(t, s, "2")
				if !inUse {
					s.Close()
					s = newServer(t, path, "n")
				}
				c.do(t, path)
				o, err := s.Commit(t.Context(), kv.Txn{Incarnation: before})
				if err != nil || o.Won != (c.want == "2") {
					t.Errorf("in use %t: a commit of before = %+v, %v", inUse, o, err)
				}
				list, stamp, err := s.Read(t.Context(), keyX)
				if err != nil || string(list[0].Value) != c.want || stamp.Incarnation == before != (c.want == "2") {
					t.Errorf("in use %t: %q in %q after %q, %v, want %q", inUse, list[0].Value, stamp.Incarnation, before, err, c.want)
				}
			})
		}
	}
}

// What is committed or read while the file is replaced may be nowhere.
func TestKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.bolt")
	s := newServer(t, path, "n")
	for _, writes := range []bool{true, false} {
		write(t, s, "1")
		_, err := s.do(t.Context(), "call", writes, func(_ *bolt.Tx, a *answer) error {
			remove(t, path)
			a.Won = writes
			return nil
		})
		if !kv.Unknown(err) || !strings.Contains(err.Error(), "replaced or deleted") {
			t.Errorf("writes %t: %v, want that nobody knows", writes, err)
		}
	}
}

// Another process waits until the first one ends, and then goes on in the same life.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.bolt")
	first, second := newServer(t, path, "n"), newServer(t, path, "n")
	life := write(t, first, "1")
	_, _, err := second.Read(t.Context(), keyX)
	if _, err2 := second.Commit(t.Context(), kv.Txn{}); !errors.Is(err, kv.ErrNotSent) || !errors.Is(err2, kv.ErrNotSent) || !strings.Contains(err.Error(), "wait until it ends") {
		t.Errorf("beside another process: %v and %v", err, err2)
	}
	first.Close()
	if now := write(t, second, "2"); now != life {
		t.Errorf("the incarnation is %q after %q", now, life)
	}
}

// A call ends with its context, and what had not begun by then is not done later.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.bolt")
	s := newServer(t, path, "n")
	life := write(t, s, "1")
	hanging := hang(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Commit(ctx, kv.Txn{Incarnation: life, Put: []kv.Write{{Key: keyX, Value: []byte("2")}}})
	if !kv.Unknown(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit: %v, want that nobody knows", err)
	}
	release(t, hanging)
	s.Close()
	list, _, err := newServer(t, path, "n").Read(t.Context(), keyX)
	if err != nil || string(list[0].Value) != "1" {
		t.Errorf("Read = %s, %v, want 1", list[0].Value, err)
	}
}

// TestRefused opens what cannot be used. The error says what to do, and nothing was changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"no file of bbolt": {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("text ", 10_000)), mode) }, "choose a file of bbolt, or a new one"},
		"no directory":     {func(path string) error { return os.Remove(filepath.Dir(path)) }, "in a directory that this program may write to"},
		"other program":    {ofOthers, `with the bucket "theirs": choose another path`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "quorate.bolt")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			s := newServer(t, path, "n")
			_, err := s.Check(t.Context())
			if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check: %v, want %q", err, c.want)
			}
			if _, err := s.Commit(t.Context(), kv.Txn{}); err == nil || kv.Unknown(err) {
				t.Errorf("Commit: %v, want that nothing was changed", err)
			}
		})
	}
}

func ofOthers(path string) error {
	db, err := bolt.Open(path, mode, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	}), db.Close())
}
