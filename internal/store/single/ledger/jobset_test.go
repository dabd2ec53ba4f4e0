package ledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/roster"
)

// Sets are kept for a day after the last renewal. Another set drives the expired ones out.
func TestJobSets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := fresh(t)
		r := NewRoster(m)
		packed := []byte("\x1f\x8b\x00\xff|binary")
		wants := func(kept bool) {
			t.Helper()
			got, err := r.JobSet(t.Context(), "c1")
			if kept && (err != nil || string(got) != string(packed)) || !kept && !errors.Is(err, roster.ErrNoJobSet) {
				t.Errorf("JobSet = %q, %v, want it kept: %t", got, err, kept)
			}
		}
		renew := func(want bool) {
			t.Helper()
			if kept, err := r.RenewSet(t.Context(), "c1"); err != nil || kept != want {
				t.Errorf("RenewSet = %t, %v, want %t", kept, err, want)
			}
		}
		wants(false)
		renew(false)
		if err := r.KeepSet(t.Context(), "c1", packed); err != nil {
			t.Fatal(err)
		}
		time.Sleep(listing.KeepSets - time.Second)
		wants(true)
		renew(true)
		time.Sleep(listing.KeepSets - time.Second)
		wants(true)
		time.Sleep(time.Second)
		wants(false)
		renew(false)
		if err := r.KeepSet(t.Context(), "c2", packed); err != nil {
			t.Fatal(err)
		}
		if lists, _, err := m.List(t.Context(), kv.All(kv.Sets)); err != nil || len(lists[0]) != 2 {
			t.Errorf("%d records are left, %v, want those of one set", len(lists[0]), err)
		}
	})
}
