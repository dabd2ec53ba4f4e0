package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler"
)

// A Roster is a [scheduler.Roster], and [scheduler.JobSets], on a consistent store. It may be
// used by many goroutines. If the store does not answer, the error of every method matches
// locking.ErrNoQuorum.
type Roster struct {
	access
	lately time.Duration // how long a replica stays after its last beat
}

// NewRoster returns the roster on s.
func NewRoster(s kv.Store) *Roster {
	return &Roster{access: access{store: s}, lately: scheduler.SeenLately}
}

// A beat is the stored form of a replica's last heartbeat.
type beat struct {
	At      int64             `json:"at"` // by the store's clock
	Replica scheduler.Replica `json:"replica"`
}

// buriedAtOnce bounds the records that a heartbeat deletes.
const buriedAtOnce = 20

func replicaKey(r scheduler.Replica) kv.Key {
	return kv.Key{Kind: kv.Members, Name: r.ID, Sub: r.Instance}
}

// Beat implements [scheduler.Roster].
func (r *Roster) Beat(ctx context.Context, self scheduler.Replica) ([]scheduler.Replica, error) {
	const doing = "announcing this replica"
	self.Seen = time.Now().Round(0)
	for range tries {
		lists, s, err := r.list(ctx, doing, kv.All(kv.Members))
		if err != nil {
			return nil, err
		}
		own := records.Put(replicaKey(self), beat{s.At().UnixMilli(), self})
		others := slices.DeleteFunc(lists[0], func(r kv.Record) bool { return r.Key == own.Key })
		list, _, silent := r.live(append(others, kv.Record{Key: own.Key, Version: 1, Value: own.Value}), s.At())
		won, err := r.commit(ctx, doing, kv.Txn{Life: s.Life, Put: []kv.Write{own}, Delete: silent})
		switch {
		case err != nil:
			return nil, err
		case won:
			return list, nil
		}
	}
	return nil, outrun(doing)
}

// Replicas implements [scheduler.Roster].
func (r *Roster) Replicas(ctx context.Context) ([]scheduler.Replica, error) {
	list, _, err := r.replicas(ctx)
	return list, err
}

// Remembered lists the replicas seen lately, and the lost ones.
func (r *Roster) Remembered(ctx context.Context) ([]scheduler.Replica, error) {
	list, lost, err := r.replicas(ctx)
	return scheduler.Successors(append(list, lost...)), err
}

func (r *Roster) replicas(ctx context.Context) (list, lost []scheduler.Replica, err error) {
	const doing = "listing the replicas"
	lists, s, err := r.list(ctx, doing, kv.All(kv.Members))
	if err != nil {
		return nil, nil, err
	}
	list, lost, _ = r.live(lists[0], s.At())
	return list, lost, nil
}

// live returns the replicas that were seen lately, sorted by id, the lost ones, and the keys
// of some records that are no longer needed.
func (r *Roster) live(stored []kv.Record, now time.Time) (list, lost []scheduler.Replica, old []kv.Key) {
	var silent []beat
	for _, record := range stored {
		b, ok := decodedAs(r.access, record, func(b beat) kv.Key { return replicaKey(b.Replica) })
		if !ok {
			continue
		}
		if now.Sub(time.UnixMilli(b.At)) < r.lately {
			list = append(list, b.Replica)
		} else {
			silent = append(silent, b)
		}
	}
	slices.SortFunc(silent, func(a, b beat) int { return cmp.Compare(b.At, a.At) })
	for i, b := range silent {
		switch {
		case i < scheduler.MostLost && now.Sub(time.UnixMilli(b.At)) < scheduler.RememberLost:
			lost = append(lost, b.Replica.Lost())
		case len(old) < buriedAtOnce:
			old = append(old, replicaKey(b.Replica))
		}
	}
	return scheduler.Successors(list), lost, old
}

// Leave implements [scheduler.Roster].
func (r *Roster) Leave(ctx context.Context, self scheduler.Replica) error {
	return r.erase(ctx, "leaving the roster", replicaKey(self))
}

var (
	_ scheduler.Roster  = (*Roster)(nil)
	_ scheduler.JobSets = (*Roster)(nil)
)
