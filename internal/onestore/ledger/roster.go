package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
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
func NewRoster(s store.Store) *Roster {
	return &Roster{access: access{s}, lately: scheduler.SeenLately}
}

// A beat is the stored form of a replica's last heartbeat.
type beat struct {
	At      int64             `json:"at"` // by the store's clock
	Replica scheduler.Replica `json:"replica"`
}

const (
	// buriedAfter is how often lately must pass until the record of a silent replica is
	// deleted. Replicas that were only suspended beat earlier.
	buriedAfter = 10
	// buriedAtOnce bounds the records that a heartbeat deletes.
	buriedAtOnce = 20
)

func replicaKey(id string) store.Key { return store.Key{Kind: store.Members, Name: id} }

// Beat implements [scheduler.Roster].
func (r *Roster) Beat(ctx context.Context, self scheduler.Replica) ([]scheduler.Replica, error) {
	const doing = "announcing this replica"
	self.Seen = time.Now().Round(0)
	for range tries {
		lists, s, err := r.list(ctx, doing, store.All(store.Members))
		if err != nil {
			return nil, err
		}
		own := records.Put(replicaKey(self.ID), beat{s.At().UnixMilli(), self})
		others := slices.DeleteFunc(lists[0], func(r store.Record) bool { return r.Key == own.Key })
		list, silent, err := r.live(doing, append(others, store.Record{Key: own.Key, Version: 1, Value: own.Value}), s.At())
		if err != nil {
			return nil, err
		}
		won, err := r.commit(ctx, doing, store.Txn{Life: s.Life, Put: []store.Write{own}, Delete: silent})
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
	const doing = "listing the replicas"
	lists, s, err := r.list(ctx, doing, store.All(store.Members))
	if err != nil {
		return nil, err
	}
	list, _, err := r.live(doing, lists[0], s.At())
	return list, err
}

// live returns the replicas that were seen lately, sorted by id, and the keys of some that
// have been silent for long.
func (r *Roster) live(doing string, stored []store.Record, now time.Time) (list []scheduler.Replica, silent []store.Key, err error) {
	for _, record := range stored {
		b, err := records.Decode[beat](record)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", doing, err)
		}
		switch age := now.Sub(time.UnixMilli(b.At)); {
		case age < r.lately:
			list = append(list, b.Replica)
		case age > buriedAfter*r.lately && len(silent) < buriedAtOnce:
			silent = append(silent, record.Key)
		}
	}
	slices.SortFunc(list, func(a, b scheduler.Replica) int { return strings.Compare(a.ID, b.ID) })
	return list, silent, nil
}

// Leave implements [scheduler.Roster].
func (r *Roster) Leave(ctx context.Context, id string) error {
	return r.erase(ctx, "leaving the roster", replicaKey(id))
}

var (
	_ scheduler.Roster  = (*Roster)(nil)
	_ scheduler.JobSets = (*Roster)(nil)
)
