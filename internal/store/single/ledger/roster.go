package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Roster is a [roster.Roster], and [roster.JobSets], on a consistent store. It may be
// used by many goroutines. If the store does not answer, the error of every method matches
// locking.ErrNoQuorum.
type Roster struct {
	access
	lately time.Duration // how long a replica stays after its last beat
}

// NewRoster returns the roster on s.
func NewRoster(s kv.Store) *Roster {
	return &Roster{access: access{store: s}, lately: roster.SeenLately}
}

// A beat is the stored form of a replica's last heartbeat.
type beat struct {
	At      int64          `json:"at"` // by the store's clock
	Replica roster.Replica `json:"replica"`
}

// buriedAtOnce bounds the records that a heartbeat deletes.
const buriedAtOnce = 20

func replicaKey(r roster.Replica) kv.Key {
	return kv.Key{Kind: kv.Members, Name: r.ID, Sub: r.Instance}
}

// Beat implements [roster.Roster]. It also deletes records that are no longer needed.
func (r *Roster) Beat(ctx context.Context, self roster.Replica) (list []roster.Replica, err error) {
	self.Seen = time.Now().Round(0)
	ranges := []kv.Range{kv.All(kv.Members), leftBefore(self.Seen)}
	err = r.change(ctx, "announcing this replica", ranges, func(lists [][]kv.Record, s kv.Stamp) (t kv.Txn) {
		own := records.Put(replicaKey(self), beat{s.At().UnixMilli(), self})
		others := slices.DeleteFunc(lists[0], func(r kv.Record) bool { return r.Key == own.Key })
		list, _, t.Delete = r.live(append(others, kv.Record{Key: own.Key, Version: 1, Value: own.Value}), s.At())
		for _, left := range lists[1] {
			if leftBefore(s.At()).Holds(left.Key) { // the store's clock counts, if it has one
				t.Delete = append(t.Delete, left.Key)
			}
		}
		t.Put = []kv.Write{own}
		return t
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// change lists the ranges, lets decide what to change, and changes it unless the store began another
// incarnation meanwhile: then it begins again.
func (r *Roster) change(ctx context.Context, doing string, ranges []kv.Range, decide func([][]kv.Record, kv.Stamp) kv.Txn) error {
	for range tries {
		lists, s, err := r.list(ctx, doing, ranges...)
		if err != nil {
			return err
		}
		t := decide(lists, s)
		t.Incarnation = s.Incarnation
		if won, err := r.commit(ctx, doing, t); won || err != nil {
			return err
		}
	}
	return outrun(doing)
}

// Replicas implements [roster.Roster].
func (r *Roster) Replicas(ctx context.Context) ([]roster.Replica, error) {
	list, _, err := r.replicas(ctx)
	return list, err
}

// Remembered lists the replicas seen lately, and the lost ones.
func (r *Roster) Remembered(ctx context.Context) ([]roster.Replica, error) {
	list, lost, err := r.replicas(ctx)
	return roster.Successors(append(list, lost...)), err
}

func (r *Roster) replicas(ctx context.Context) (list, lost []roster.Replica, err error) {
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
func (r *Roster) live(stored []kv.Record, now time.Time) (list, lost []roster.Replica, old []kv.Key) {
	var unseen []beat
	for _, record := range stored {
		b, ok := decodedAs(r.access, record, func(b beat) kv.Key { return replicaKey(b.Replica) })
		if !ok {
			continue
		}
		if now.Sub(time.UnixMilli(b.At)) < r.lately {
			list = append(list, b.Replica)
		} else {
			unseen = append(unseen, b)
		}
	}
	slices.SortFunc(unseen, func(a, b beat) int { return cmp.Compare(b.At, a.At) })
	for i, b := range unseen {
		switch {
		case i < roster.MostLost && now.Sub(time.UnixMilli(b.At)) < roster.RememberLost:
			lost = append(lost, b.Replica.Lost())
		case len(old) < buriedAtOnce:
			old = append(old, replicaKey(b.Replica))
		}
	}
	return roster.Successors(list), lost, old
}

// leftName is the name of the records of replicas that left: beats, the last one first. They are not
// among the members, where releases that do not know them would find them.
const leftName = "left"

// leftBefore selects some of those that left so long ago that listings forget them.
func leftBefore(now time.Time) kv.Range {
	old := kv.Between(kv.Cluster, leftName, records.EntryOrder(now.Add(-roster.RememberLeft).UnixMilli()), "")
	old.Limit = buriedAtOnce
	return old
}

func leftKey(b beat) kv.Key {
	return kv.Key{Kind: kv.Cluster, Name: leftName, Sub: records.EntryOrder(b.At) + " " + b.Replica.Process()}
}

// Leave implements [roster.Roster].
func (r *Roster) Leave(ctx context.Context, self roster.Replica) error {
	self.Seen = time.Now().Round(0)
	left := kv.Of(kv.Cluster, leftName)
	left.Limit = roster.MostLeft + buriedAtOnce
	return r.change(ctx, "leaving the roster", []kv.Range{left}, func(lists [][]kv.Record, s kv.Stamp) kv.Txn {
		last := beat{s.At().UnixMilli(), self}
		t := kv.Txn{Put: []kv.Write{records.Put(leftKey(last), last)}, Delete: []kv.Key{replicaKey(self)}}
		for _, old := range lists[0][min(len(lists[0]), roster.MostLeft-1):] {
			t.Delete = append(t.Delete, old.Key)
		}
		return t
	})
}

// Left lists the replicas that left.
func (r *Roster) Left(ctx context.Context) ([]roster.Replica, error) {
	lists, s, err := r.list(ctx, "listing the replicas that left", kv.Of(kv.Cluster, leftName))
	if err != nil {
		return nil, err
	}
	var list []roster.Replica
	for _, record := range lists[0] {
		if b, ok := decodedAs(r.access, record, leftKey); ok && !leftBefore(s.At()).Holds(record.Key) {
			list = append(list, b.Replica)
		}
	}
	return roster.Left(list), nil
}

var (
	_ roster.Roster  = (*Roster)(nil)
	_ roster.JobSets = (*Roster)(nil)
)

// A version is the stored form of a published version of a job.
type version struct {
	At      int64           `json:"at"` // by the store's clock
	Account listing.Account `json:"account"`
	Job     roster.JobInfo  `json:"job"`
}

func versionKey(j roster.JobInfo) kv.Key {
	return kv.Key{Kind: kv.Jobs, Name: j.Name, Sub: j.Hash}
}

// Publish implements [roster.Roster]. Accounts are merged with those stored.
func (r *Roster) Publish(ctx context.Context, jobs []roster.JobInfo) error {
	const doing = "publishing the jobs"
	for some := range slices.Chunk(jobs, r.atOnce()) {
		keys := make([]kv.Key, len(some))
		for i, j := range some {
			keys[i] = versionKey(j)
		}
		err := r.update(ctx, doing, keys, func(list []kv.Record, s kv.Stamp) (t kv.Txn, err error) {
			t.If = unchanged(list...)
			t.Put = make([]kv.Write, len(list))
			for i, stored := range list {
				had, _ := decoded[version](r.access, stored)
				t.Put[i] = records.Put(stored.Key, version{s.At().UnixMilli(), had.merge(some[i].Account, s.At()), some[i]})
			}
			return t, nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// maxVersion is more than the stored form of a version has in bytes: most of it is the
// definition of its schedule.
const maxVersion = 4 * roster.MaxDefinition

// atOnce is how many versions fit into a transaction, which compares and writes each.
func (r *Roster) atOnce() int {
	most := r.store.Limits()
	return max(1, min(pageRows, most.Keys/2, most.Bytes/maxVersion))
}

// merge returns the version's account merged with another, of which no time but the first is
// ahead of the store's clock.
func (v version) merge(a roster.Account, now time.Time) listing.Account {
	for _, t := range []*time.Time{&a.Until, &a.Stopped, &a.Removed} {
		if t.After(now) {
			*t = now
		}
	}
	return listing.NewAccount(v.Account.Times().Merge(a))
}

// Unpublish implements [roster.Roster].
func (r *Roster) Unpublish(ctx context.Context, jobs []roster.JobInfo) error {
	var keys []kv.Key
	for _, j := range jobs {
		keys = append(keys, versionKey(j))
	}
	return r.erase(ctx, "taking jobs off the list", keys...)
}

// Jobs implements [roster.Roster]. It deletes versions that nobody has served for long.
func (r *Roster) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	list, old := []roster.JobInfo{}, []kv.Key(nil)
	err := r.each(ctx, "listing the jobs", kv.All(kv.Jobs), func(some []kv.Record, s kv.Stamp) error {
		for _, stored := range some {
			v, ok := decodedAs(r.access, stored, func(v version) kv.Key { return versionKey(v.Job) })
			if !ok {
				continue
			}
			v.Job.Account, v.Job.Age = v.Account.Times(), max(0, s.At().Sub(time.UnixMilli(v.At)))
			if v.Job.Age >= listing.KeepJobs {
				old = append(old, stored.Key)
				continue
			}
			list = append(list, v.Job)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	listing.SortVersions(list)
	_ = r.erase(ctx, "taking jobs off the list", old...) // or the next time
	return list, nil
}

// A renewal is the stored form of the last renewal of a set. The set is a record of its own,
// which may be large.
type renewal struct {
	At int64 `json:"at"` // by the store's clock
}

func (r renewal) expired(now time.Time) bool {
	return r.At == 0 || !now.Before(time.UnixMilli(r.At).Add(listing.KeepSets))
}

// setKeys are the keys of the renewal and of the set.
func setKeys(hash string) []kv.Key {
	return []kv.Key{{Kind: kv.Sets, Name: "renewed", Sub: hash}, {Kind: kv.Sets, Name: "packed", Sub: hash}}
}

// RenewSet implements [roster.JobSets].
func (r *Roster) RenewSet(ctx context.Context, hash string) (kept bool, err error) {
	err = r.update(ctx, "renewing a set of jobs", setKeys(hash)[:1], func(list []kv.Record, s kv.Stamp) (t kv.Txn, err error) {
		last, ok := decoded[renewal](r.access, list[0])
		if kept = ok && !last.expired(s.At()); !kept {
			return t, nil // it is kept again
		}
		now := renewal{s.At().UnixMilli()}
		return kv.Txn{If: unchanged(list[0]), Put: []kv.Write{records.Put(list[0].Key, now)}}, nil
	})
	return kept && err == nil, err
}

// KeepSet implements [roster.JobSets]. It also deletes expired sets.
func (r *Roster) KeepSet(ctx context.Context, hash string, packed []byte) error {
	const doing = "keeping a set of jobs"
	keys := setKeys(hash)
	err := r.update(ctx, doing, keys[:1], func(_ []kv.Record, s kv.Stamp) (kv.Txn, error) {
		now := renewal{s.At().UnixMilli()}
		return kv.Txn{Put: []kv.Write{records.Put(keys[0], now), records.Put(keys[1], packed)}}, nil
	})
	if err != nil {
		return err
	}
	return r.each(ctx, doing, kv.Of(kv.Sets, keys[0].Name), func(list []kv.Record, s kv.Stamp) error {
		for _, old := range list {
			if last, err := records.Decode[renewal](old); err != nil || !last.expired(s.At()) {
				continue
			}
			// Another replica may have renewed it.
			if _, err := r.store.Commit(ctx, kv.Txn{Incarnation: s.Incarnation, If: unchanged(old), Delete: setKeys(old.Key.Sub)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// JobSet implements [roster.JobSets].
func (r *Roster) JobSet(ctx context.Context, hash string) ([]byte, error) {
	const doing = "reading a set of jobs"
	list, s, err := r.read(ctx, doing, setKeys(hash)...)
	if err != nil {
		return nil, err
	}
	last, err := records.Decode[renewal](list[0])
	if err == nil && last.expired(s.At()) {
		return nil, roster.ErrNoJobSet
	}
	var packed []byte
	if err == nil {
		packed, err = records.Decode[[]byte](list[1])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return packed, nil
}
