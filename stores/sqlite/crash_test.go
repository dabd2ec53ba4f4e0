package sqlite

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// TestKilled kills processes in the middle of commits, one after the other. The file stays whole, each
// number is won once, and what was acknowledged is there.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	var all []win
	workers := make([]*worker, 3)
	for i := range workers {
		workers[i] = startWorker(t, path)
	}
	kills := length.Of(20, 500)
	for i := range kills {
		w := workers[i%len(workers)]
		w.await(t, time.Time{})
		<-time.After(rand.N(5 * time.Millisecond)) // a commit takes as long
		w.kill()
		all = append(all, w.won()...)
		workers[i%len(workers)] = startWorker(t, path)
	}
	for _, w := range workers {
		w.kill()
		all = append(all, w.won()...)
	}
	t.Logf("%d numbers won, %d processes killed", len(all), kills+len(workers))
	checkWhole(t, path)
	checkWins(t, path, all)
	for _, w := range all {
		if w.incarnation != all[0].incarnation {
			t.Fatalf("the incarnation is %q, and was %q: no file was replaced", w.incarnation, all[0].incarnation)
		}
	}
}

// checkWhole checks the structure of the file.
func checkWhole(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var result string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Errorf("integrity_check: %s, %v", result, err)
	}
}

// checkWins checks that each number was won once, and that the file knows all of them. It may know of more:
// those whose winner was killed before it could say so.
func checkWins(t *testing.T, path string, all []win) {
	t.Helper()
	s := newStore(t, path, client)
	numbers, last := map[int]bool{}, 0
	for _, w := range all {
		if numbers[w.number] {
			t.Errorf("%d was won twice", w.number)
		}
		numbers[w.number] = true
		last = max(last, w.number)
	}
	list, _, err := s.Read(t.Context(), counter)
	if err != nil {
		t.Fatal(err)
	}
	count, err := strconv.Atoi(string(list[0].Value))
	if err != nil || count < last {
		t.Errorf("the counter is %d (%v), and %d was won", count, err, last)
	}
	claims, _, err := s.List(t.Context(), kv.All(kv.Entries))
	if err != nil {
		t.Fatal(err)
	}
	if len(claims[0]) != count {
		t.Errorf("the counter is %d, and there are %d claims", count, len(claims[0]))
	}
	known := map[kv.Key]bool{}
	for _, r := range claims[0] {
		known[r.Key] = true
	}
	for n := range numbers {
		if !known[claimOf(n)] {
			t.Errorf("%d was won, and its claim is missing", n)
		}
	}
}
