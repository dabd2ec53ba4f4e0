package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler"
)

// keepJobs is how long a version of a job stays published after the last replica that served
// it. Housekeeping forgets jobs earlier.
const keepJobs = 400 * 24 * time.Hour

// A version is the stored form of a published version of a job.
type version struct {
	At      int64             `json:"at"`      // by the store's clock
	Account [4]int64          `json:"account"` // first, until, stopped and removed, in milliseconds; 0 for none
	Job     scheduler.JobInfo `json:"job"`
}

func versionKey(j scheduler.JobInfo) kv.Key {
	return kv.Key{Kind: kv.Jobs, Name: j.Name, Sub: j.Hash}
}

// Publish implements [scheduler.Roster]. Accounts are merged with those stored.
func (r *Roster) Publish(ctx context.Context, jobs []scheduler.JobInfo) error {
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
const maxVersion = 4 * scheduler.MaxDefinition

// atOnce is how many versions fit into a transaction, which compares and writes each.
func (r *Roster) atOnce() int {
	most := r.store.Limits()
	return max(1, min(pageRows, most.Keys/2, most.Bytes/maxVersion))
}

// merge returns the version's account merged with another, of which no time but the first is
// ahead of the store's clock.
func (v version) merge(a scheduler.Account, now time.Time) [4]int64 {
	for _, t := range []*time.Time{&a.Until, &a.Stopped, &a.Removed} {
		if t.After(now) {
			*t = now
		}
	}
	a = v.account().Merge(a)
	var stored [4]int64
	for i, t := range []time.Time{a.First, a.Until, a.Stopped, a.Removed} {
		if !t.IsZero() {
			stored[i] = max(0, t.UnixMilli())
		}
	}
	return stored
}

func (v version) account() scheduler.Account {
	var t [4]time.Time
	for i, ms := range v.Account {
		if ms > 0 {
			t[i] = time.UnixMilli(ms).UTC()
		}
	}
	return scheduler.Account{First: t[0], Until: t[1], Stopped: t[2], Removed: t[3]}
}

// Unpublish implements [scheduler.Roster].
func (r *Roster) Unpublish(ctx context.Context, jobs []scheduler.JobInfo) error {
	var keys []kv.Key
	for _, j := range jobs {
		keys = append(keys, versionKey(j))
	}
	return r.erase(ctx, "taking jobs off the list", keys...)
}

// Jobs implements [scheduler.Roster]. It deletes versions that nobody has served for long.
func (r *Roster) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	list, old := []scheduler.JobInfo{}, []kv.Key(nil)
	err := r.each(ctx, "listing the jobs", kv.All(kv.Jobs), func(some []kv.Record, s kv.Stamp) error {
		for _, stored := range some {
			v, ok := decodedAs(r.access, stored, func(v version) kv.Key { return versionKey(v.Job) })
			if !ok {
				continue
			}
			v.Job.Account, v.Job.Age = v.account(), max(0, s.At().Sub(time.UnixMilli(v.At)))
			if v.Job.Age >= keepJobs {
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
	slices.SortFunc(list, func(a, b scheduler.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
	_ = r.erase(ctx, "taking jobs off the list", old...) // or the next time
	return list, nil
}
