package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

func TestFairnessTemp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quorate.db")
	var workers []*worker
	for range 3 {
		w := startWorker(t, path)
		w.await(t, time.Time{})
		workers = append(workers, w)
	}
	from := time.Now()
	<-time.After(10 * time.Second)
	for _, w := range workers {
		w.kill()
		n := 0
		var longest, last time.Duration
		for _, x := range w.won() {
			if d := x.began.Sub(from); d > 0 {
				n++
				longest = max(longest, d-last)
				last = d
			}
		}
		t.Logf("%d won, longest without %v", n, longest)
	}
}
