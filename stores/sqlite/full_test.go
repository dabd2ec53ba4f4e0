package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// fill commits until the store refuses for lack of space, and returns what was won.
func fill(t *testing.T, s kv.Store) (all []win) {
	t.Helper()
	ballast := []byte(`"` + strings.Repeat("x", 3000) + `"`)
	for {
		w, err := claimNext(t.Context(), s, "a")
		if err == nil && w.number > 0 {
			all = append(all, w)
			_, err = s.Commit(t.Context(), kv.Txn{Incarnation: w.incarnation, Put: []kv.Write{{Key: kv.Key{Kind: kv.Logs, Name: fmt.Sprint(w.number)}, Value: ballast}}})
		}
		if err == nil {
			continue
		}
		if kv.Unknown(err) || errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "the disk or a quota is full: free some space") {
			t.Errorf("Commit: %v, want that the disk is full and nothing was changed", err)
		}
		return all
	}
}

// TestFull fills a file up to a limit of its pages. Commits are refused then, and go on when there is space.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	s := newStore(t, path, client)
	if _, err := claimNext(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	db := s.dialect.current.Load().db
	db.SetMaxOpenConns(1) // a limit is that of a connection
	limit := func(pages int) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(40)
	all := fill(t, s)
	checkWins(t, path, all)
	limit(100)
	more := fill(t, s)
	if len(all) == 0 || len(more) == 0 {
		t.Errorf("%d numbers were won, and %d with more space", len(all), len(more))
	}
	checkWins(t, path, append(all, more...))
	checkWhole(t, path)
}
