package claims_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// On a store without a clock, a replica that sees a lease for the first time cannot know how
// long ago it was written. It waits for a ttl, and what is extended meanwhile is not free.
func TestLeaseIsObserved(t *testing.T) {
	t.Parallel()
	inWorldOf(t, true, func(w *world) {
		lease := w.acquire(w.tick(1))
		time.Sleep(ttl - time.Second)
		w.extends(lease)
		w.l = w.replica() // one that has seen nothing
		for range 5 {
			w.refused(w.tick(2), locking.ErrTaken)
			time.Sleep(ttl - time.Second)
			w.extends(lease)
		}
		time.Sleep(ttl - 2*time.Second) // since an earlier version was seen, more than a ttl
		w.refused(w.tick(2), locking.ErrTaken)
		time.Sleep(ttl + ttl/200)
		w.refused(w.tick(2), locking.ErrTaken) // the drift is missing
		time.Sleep(time.Second)
		w.larger(lease, w.acquire(w.tick(2)))
	})
}

// The clocks of replicas decide on nothing: a lease lasts whatever time its holder wrote, and
// a token that is far ahead of time stops nobody.
func TestClocksOfReplicas(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		inWorldOf(t, true, func(w *world) {
			lease := w.acquire(w.tick(1))
			w.shift(by)
			fence := w.claims().Fence
			w.l = w.replica()
			w.refused(w.tick(2), locking.ErrTaken)
			w.ages(ttl + time.Second)
			next := w.acquire(w.tick(2))
			if token := uint64(next.Claim().Token); token <= fence {
				w.Errorf("clock off by %v: token %d after %d", by, token, fence)
			}
			w.wants("Release", lease.Release(w.Context(), nil), locking.ErrLeaseLost)
			w.extends(next)
			w.release(next)
		})
	}
}

// shift makes the records those of a replica whose clock is off.
func (w *world) shift(by time.Duration) {
	w.Helper()
	lease, err := records.Decode[records.Lease](w.stored(kv.Leases)[0])
	if err != nil {
		w.Fatal(err)
	}
	c, seconds := w.claims(), int64(by/time.Second)
	lease.Until += by.Milliseconds()
	c.Fence = uint64(int64(c.Fence) + seconds<<20)
	lease.Token = c.Fence
	for stream, claim := range c.Streams {
		claim.Token = c.Fence
		c.Streams[stream] = claim
	}
	_, s, err := w.m.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.arrives(kv.Txn{Incarnation: s.Incarnation, Put: []kv.Write{
		records.Put(records.ClaimsKey("job"), c), records.Put(records.LeaseKey("job", records.Claim{}), lease),
	}})
}

// An operator's word lasts until the holder has heard it, whatever the clocks say.
func TestEvictionOutlastsClocks(t *testing.T) {
	t.Parallel()
	inWorldOf(t, true, func(w *world) {
		lease := w.acquire(w.tick(1))
		if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
			w.Fatal(err)
		}
		w.shift(-24 * time.Hour)
		r := w.stored(kv.Leases)[0]
		tomb, err := records.Decode[records.Lease](r)
		if err != nil || len(tomb.Evicted) != 1 {
			w.Fatalf("%+v, %v", tomb, err)
		}
		tomb.Evicted[0].Until -= (24 * time.Hour).Milliseconds()
		_, s, _ := w.m.Read(w.Context())
		w.arrives(kv.Txn{Incarnation: s.Incarnation, Put: []kv.Write{records.Put(r.Key, tomb)}})
		w.extendsNot(lease)
	})
}
