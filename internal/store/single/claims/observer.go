package claims

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// An observer finds out when leases end on a store without a clock. It keeps since when it
// has seen each lease as it is.
type observer struct {
	mu    sync.Mutex
	seen  map[kv.Key]sighting
	clock bool // the store has a clock
}

// A sighting is the first time that a version was seen.
type sighting struct {
	incarnation string
	version     uint64
	at          time.Time
}

// maxSightings bounds the memory. Beyond it the observer begins again: leases then seem to
// last longer.
const maxSightings = 20_000

// sees notes that a lease was read, and returns since when it has been as it is. It was
// written before that.
func (o *observer) sees(incarnation string, r kv.Record, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[r.Key]
	if s.incarnation == incarnation && s.version == r.Version {
		return s.at
	}
	if o.seen == nil || len(o.seen) >= maxSightings {
		o.seen = map[kv.Key]sighting{}
	}
	o.seen[r.Key] = sighting{incarnation, r.Version, now}
	return now
}

// forget drops the sightings of leases that are not among those.
func (o *observer) forget(others map[kv.Key]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k := range o.seen {
		if !others[k] {
			delete(o.seen, k)
		}
	}
}

func (o *observer) hasClock(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clock = o.clock || !now.IsZero()
	return o.clock
}

// observeFor is how long a lease must be seen unchanged until its holder has stopped.
func (c Config) observeFor(lease records.Lease) time.Duration {
	ttl := cmp.Or(time.Duration(lease.TTL)*time.Millisecond, c.Grace)
	return ttl + time.Duration(float64(ttl)*c.DriftFactor) + minDrift
}

// observe finds the ends of the leases in a view of a store without a clock, by the clock
// of this process. Only time that has passed counts, not how the clock is set.
func (l *Locker) observe(v *view) {
	now := time.Now()
	v.stamp.Now, v.observed, v.ends = now, true, map[kv.Key]int64{}
	for k, lease := range v.leases {
		since := l.observer.sees(v.stamp.Incarnation, kv.Record{Key: k, Version: v.versions[k]}, now)
		v.ends[k] = now.Add(l.cfg.observeFor(lease) - now.Sub(since)).UnixMilli()
	}
}

// Observe looks at all leases of a store without a clock. Call it every few seconds: then a
// lease whose holder died ends for the next tick about as early as on a store with a clock.
func (l *Locker) Observe(ctx context.Context) error {
	if l.observer.hasClock(time.Time{}) {
		return nil
	}
	ctx, cancel := l.request(ctx)
	defer cancel()
	lists, stamp, err := l.store.List(ctx, kv.All(kv.Leases))
	if err != nil || l.observer.hasClock(stamp.Now) {
		return err
	}
	there, now := map[kv.Key]bool{}, time.Now()
	for _, r := range lists[0] {
		there[r.Key] = true
		l.observer.sees(stamp.Incarnation, r, now)
	}
	l.observer.forget(there)
	return nil
}
