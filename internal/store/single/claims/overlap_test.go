package claims_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// A transaction of PostgreSQL has room for 500 keys. More runs than that may overlap.
const manyRuns = 520

// overlapping claims many ticks whose runs overlap.
func (w *world) overlapping() (list []locking.Lease) {
	w.Helper()
	for n := range manyRuns {
		list = append(list, w.acquire(beside(w.tick(n-manyRuns))))
	}
	return list
}

// claims returns what is stored of the job's claims.
func (w *world) claims() records.Claims {
	w.Helper()
	c, err := records.Decode[records.Claims](w.stored(kv.Claims)[0])
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// Any number of runs may overlap. When all of them have ended, their claims are dropped.
func TestManyRunsOverlap(t *testing.T) {
	t.Parallel()
	inWorldOf(t, false, func(w *world) {
		list := w.overlapping()
		for _, lease := range list {
			w.extends(lease)
			w.release(lease)
		}
		for n := range 4 {
			w.release(w.acquire(beside(w.tick(n + 1))))
		}
		if n := len(w.claims().Earlier); n > 30 {
			w.Errorf("%d claims are kept", n)
		}
	})
}

// When the replicas of many overlapping runs die, a claim of a run that overlaps no other
// gets through, and the job can be forgotten.
func TestManyOverlappingRunsDie(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(w *world){
		"claim": func(w *world) {
			w.acquire(w.tick(1))
			if n := len(w.stored(kv.Leases)); n != 1 {
				w.Errorf("%d leases are kept", n)
			}
		},
		"forget": func(w *world) {
			if err := w.l.Forget(w.Context(), "job"); err != nil {
				w.Fatal(err)
			}
			if n := len(w.stored(kv.Leases)); n != 0 {
				w.Errorf("%d leases are kept", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorldOf(t, name == "forget", func(w *world) {
				living := w.overlapping()[manyRuns/2]
				w.ages(ttl / 2)
				w.extends(living)
				w.ages(ttl/2 + time.Second)
				w.refused(w.tick(1), locking.ErrTaken)
				w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrTaken)
				w.release(living)
				after(w)
			})
		})
	}
}
