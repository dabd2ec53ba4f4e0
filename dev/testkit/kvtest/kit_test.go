package kvtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// recorder takes a check's complaints instead of failing the test.
type recorder struct {
	testing.TB
	complaints []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(f string, a ...any) {
	r.complaints = append(r.complaints, fmt.Sprintf(f, a...))
}

func (r *recorder) Fatal(a ...any) { r.Fatalf("%s", fmt.Sprint(a...)) }

func (r *recorder) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	panic(r) // unwinds the check; find recovers it
}

// find runs the check on the store and returns its complaints.
func find(t *testing.T, c check, s kv.Store) (complaints []string) {
	t.Helper()
	rec := &recorder{TB: t}
	defer func() {
		complaints = rec.complaints
		if p := recover(); p != nil && p != any(rec) {
			panic(p)
		}
	}()
	c.run(newBench(rec, Backend{New: func(testing.TB) kv.Store { return s }, Rounds: 100}))
	return nil // see above
}

// mutant is a Memory with a bug planted.
type mutant struct {
	*Memory
	read   func(m *Memory, ctx context.Context, keys []kv.Key) ([]kv.Record, kv.Stamp, error)
	list   func(m *Memory, ctx context.Context, ranges []kv.Range) ([][]kv.Record, kv.Stamp, error)
	commit func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error)
}

func (m mutant) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	if m.read == nil {
		return m.Memory.Read(ctx, keys...)
	}
	return m.read(m.Memory, ctx, keys)
}

func (m mutant) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	if m.list == nil {
		return m.Memory.List(ctx, ranges...)
	}
	return m.list(m.Memory, ctx, ranges)
}

func (m mutant) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if m.commit == nil {
		return m.Memory.Commit(ctx, t)
	}
	return m.commit(m.Memory, ctx, t)
}

// changing is a store that changes transactions.
func changing(change func(*kv.Txn)) mutant {
	return mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
		change(&t)
		return m.Commit(ctx, t)
	}}
}

// listing is a store that changes what it lists.
func listing(change func(kv.Range, []kv.Record) []kv.Record) mutant {
	return mutant{list: func(m *Memory, ctx context.Context, ranges []kv.Range) ([][]kv.Record, kv.Stamp, error) {
		asked := slices.Clone(ranges)
		for i := range asked {
			asked[i].Limit = 0
		}
		lists, s, err := m.List(ctx, asked...)
		for i := range lists {
			lists[i] = change(ranges[i], lists[i])
		}
		return lists, s, err
	}}
}

type txn kv.Txn

func (t txn) changes(k kv.Key) bool {
	return slices.Contains(t.Delete, k) || slices.ContainsFunc(t.Put, func(w kv.Write) bool { return w.Key == k })
}

// inTwoSteps compares in one step and writes in another one, which still compares what
// again selects. Of several transactions the first steps come first, if they meet.
func inTwoSteps(again func(t txn, k kv.Key) bool) mutant {
	meet := make(chan bool)
	return mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
		o, err := m.Commit(ctx, kv.Txn{Incarnation: t.Incarnation, If: t.If})
		if err != nil || !o.Won {
			return o, err
		}
		select {
		case meet <- true:
		case <-meet:
		case <-time.After(5 * time.Millisecond):
		}
		t.If = slices.DeleteFunc(slices.Clone(t.If), func(c kv.Compare) bool { return !again(txn(t), c.Key) })
		return m.Commit(ctx, t)
	}}
}

// TestKitFindsBugs holds the kit to what it is for: every check finds a bug.
func TestKitFindsBugs(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range slices.Concat(plantsInTransactions(), plantsInReads()) {
		used[p.check] = true
		t.Run(strings.ReplaceAll(p.bug, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p.store.Memory = new(Memory)
			at := slices.IndexFunc(checks(), func(c check) bool { return c.name == p.check })
			if list := find(t, checks()[at], p.store); len(list) == 0 {
				t.Errorf("%s does not find that a store %s", p.check, p.bug)
			}
		})
	}
	for _, c := range checks() {
		if !used[c.name] {
			t.Errorf("%s is never seen to find anything", c.name)
		}
		if list := find(t, c, new(Memory)); len(list) > 0 {
			t.Errorf("%s complains about a store without bugs: %q", c.name, list)
		}
	}
}

// A plant is a bug, and the check that has to find it.
type plant struct {
	bug, check string
	store      mutant
}

func plantsInTransactions() []plant {
	return []plant{
		{"compares nothing", "ComparesVersions", changing(func(t *kv.Txn) { t.If = nil })},
		{"compares only what it writes", "ChangesAllOrNothing", changing(func(t *kv.Txn) {
			t.If = slices.DeleteFunc(slices.Clone(t.If), func(c kv.Compare) bool { return !txn(*t).changes(c.Key) })
		})},
		{"writes although it lost", "ChangesAllOrNothing", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			o, err := m.Commit(ctx, t)
			if err == nil && !o.Won {
				_, err = m.Commit(ctx, kv.Txn{Incarnation: t.Incarnation, Put: t.Put})
			}
			return o, err
		}}},
		{"compares only what there is", "ComparesWhatIsAbsent", changing(func(t *kv.Txn) {
			t.If = slices.DeleteFunc(slices.Clone(t.If), func(c kv.Compare) bool { return c.Version == 0 })
		})},
		{"repeats versions after a delete", "VersionsDoNotRepeat", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			o, err := m.Commit(ctx, t)
			if len(t.Delete) > 0 {
				m.data.version = 0
			}
			return o, err
		}}},
		{"ignores the incarnation", "AnotherIncarnationLoses", changing(func(t *kv.Txn) { t.Incarnation = "incarnation 0" })},
		{"makes a part of what is too large", "RefusesWhatIsTooLarge", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			t.Put = t.Put[:min(len(t.Put), m.Limits().Keys)]
			return m.Commit(ctx, t)
		}}},
		{"takes the last of two changes", "RefusesWrongTransactions", changing(func(t *kv.Txn) { t.Put = t.Put[len(t.Put)-1:] })},
		{"compares in a step of its own", "CountsExactly", inTwoSteps(func(txn, kv.Key) bool { return false })},
		{"locks only what it writes", "ComparedIsLocked", inTwoSteps(txn.changes)},
		{"compacts values", "KeepsEveryByte", changing(func(t *kv.Txn) {
			t.Put = slices.Clone(t.Put)
			for i := range t.Put {
				var b bytes.Buffer
				_ = json.Compact(&b, t.Put[i].Value) // they are JSON
				t.Put[i].Value = b.Bytes()
			}
		})},
		{"has no room for a kind", "KeepsEveryKind", changing(func(t *kv.Txn) {
			t.Put = slices.DeleteFunc(slices.Clone(t.Put), func(w kv.Write) bool { return w.Key.Kind == kv.Commands })
		})},
		{"stamps a commit when it opened", "ClockAndIncarnationStay", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			o, err := m.Commit(ctx, t)
			o.Stamp.Now = o.Stamp.Now.Add(-time.Hour)
			return o, err
		}}},
		{"commits for a caller that has gone", "EndedContextIsAnError", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			return m.Commit(context.WithoutCancel(ctx), t)
		}}},
		{"denies a commit that was too late", "ErrorsSayIfUnknown", mutant{commit: func(m *Memory, ctx context.Context, t kv.Txn) (kv.Outcome, error) {
			o, err := m.Commit(context.WithoutCancel(ctx), t)
			if ctx.Err() != nil {
				return kv.Outcome{}, kv.ErrTooLarge
			}
			return o, err
		}}},
	}
}

func plantsInReads() []plant {
	var mu sync.Mutex
	old := map[kv.Key]kv.Record{}
	return []plant{
		{"reads in its own order", "ReadsWhatWasCommitted", mutant{read: func(m *Memory, ctx context.Context, keys []kv.Key) ([]kv.Record, kv.Stamp, error) {
			list, s, err := m.Read(ctx, keys...)
			slices.SortFunc(list, func(a, b kv.Record) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
			return list, s, err
		}}},
		{"reads what was there before", "ReadsWhatWasCommitted", mutant{read: func(m *Memory, ctx context.Context, keys []kv.Key) ([]kv.Record, kv.Stamp, error) {
			list, s, err := m.Read(ctx, keys...)
			mu.Lock()
			defer mu.Unlock()
			for i, r := range list {
				if was, known := old[r.Key]; known {
					list[i] = was
				}
				old[r.Key] = r
			}
			return list, s, err
		}}},
		{"lists in the order of a language", "ListsInOrder", listing(func(_ kv.Range, list []kv.Record) []kv.Record {
			slices.SortStableFunc(list, func(a, b kv.Record) int {
				return strings.Compare(strings.ToLower(a.Key.Name), strings.ToLower(b.Key.Name))
			})
			return list
		})},
		{"lists without a limit", "ListsRanges", listing(func(_ kv.Range, list []kv.Record) []kv.Record { return list })},
		{"lists the last instead of the first", "ListsRanges", listing(func(r kv.Range, list []kv.Record) []kv.Record {
			return list[max(0, len(list)-cmp.Or(r.Limit, len(list))):]
		})},
		{"lists what begins with the name", "ListsRanges", mutant{list: func(m *Memory, ctx context.Context, ranges []kv.Range) ([][]kv.Record, kv.Stamp, error) {
			ranges = slices.Clone(ranges)
			for i, r := range ranges {
				if r.To == kv.Of(r.Kind, r.From.Name).To {
					ranges[i].To.Name = r.From.Name + "\xff"
				}
			}
			return m.List(ctx, ranges...)
		}}},
		{"lists each range at a moment of its own", "ListsOneMoment", mutant{list: func(m *Memory, ctx context.Context, ranges []kv.Range) (lists [][]kv.Record, s kv.Stamp, err error) {
			for _, r := range ranges {
				var one [][]kv.Record
				if one, s, err = m.List(ctx, r); err != nil {
					return nil, s, err
				}
				lists = append(lists, one...)
				<-time.After(100 * time.Microsecond) // for the commits of others
			}
			return lists, s, nil
		}}},
	}
}
