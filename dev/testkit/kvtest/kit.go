// Package kvtest checks implementations of [kv.Store], and has one in memory whose
// calls can be made to fail.
package kvtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Backend describes a kind of store to test.
type Backend struct {
	// New makes a new, empty store. Required.
	New func(t testing.TB) kv.Store
	// NextIncarnation makes the store begin another incarnation, without losing anything. None: what it
	// would show is not checked.
	NextIncarnation func(t testing.TB, s kv.Store)
	// Clockless: the answers carry no clock.
	Clockless bool
	// Rounds is the number of increments in the checks with competitors. Default 500.
	Rounds int
}

// Run checks every promise of the contract, one subtest each.
func Run(t *testing.T, b Backend) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(newBench(t, b)) })
	}
}

// A check is one promise of the contract.
type check struct {
	name string
	run  func(*bench)
}

func checks() []check {
	return []check{
		{"ReadsWhatWasCommitted", readsWhatWasCommitted},
		{"ComparesVersions", comparesVersions},
		{"ChangesAllOrNothing", changesAllOrNothing},
		{"ComparesWhatIsAbsent", comparesWhatIsAbsent},
		{"VersionsDoNotRepeat", versionsDoNotRepeat},
		{"AnotherIncarnationLoses", anotherIncarnationLoses},
		{"ListsInOrder", listsInOrder},
		{"ListsRanges", listsRanges},
		{"KeepsEveryByte", keepsEveryByte},
		{"KeepsEveryKind", keepsEveryKind},
		{"ClockAndIncarnationStay", clockAndIncarnationStay},
		{"RefusesWhatIsTooLarge", refusesWhatIsTooLarge},
		{"RefusesWrongTransactions", refusesWrongTransactions},
		{"EndedContextIsAnError", endedContextIsAnError},
		{"ErrorsSayIfUnknown", errorsSayIfUnknown},
		{"CountsExactly", countsExactly},
		{"ComparedIsLocked", comparedIsLocked},
		{"ListsOneMoment", listsOneMoment},
	}
}

func readsWhatWasCommitted(b *bench) {
	x, y := key("x", ""), key("y", "1")
	b.wants(x, "")
	version := b.write(x, `{"a":1}`)
	b.wants(x, `{"a":1}`)
	if r, _ := b.read(x); r.Version != version {
		b.Errorf("version %d was read of what was put as %d", r.Version, version)
	}
	list, _, err := b.store.Read(b.Context(), y, x, y)
	if err != nil || len(list) != 3 || list[0].Version != 0 || list[1].Version != version || list[2].Key != y {
		b.Errorf("Read(y, x, y) = %+v, %v", list, err)
	}
	b.commit(true, kv.Txn{Delete: []kv.Key{x, y}})
	b.wants(x, "")
}

func comparesVersions(b *bench) {
	x := key("x", "")
	first := b.write(x, `1`)
	second := b.commit(true, kv.Txn{If: []kv.Compare{{Key: x, Version: first}}, Put: []kv.Write{put(x, `2`)}}).Version
	if second == first {
		b.Errorf("two versions are %d", first)
	}
	b.commit(false, kv.Txn{If: []kv.Compare{{Key: x, Version: first}}, Put: []kv.Write{put(x, `3`)}})
	b.commit(false, kv.Txn{If: []kv.Compare{{Key: x, Version: first}}, Delete: []kv.Key{x}})
	b.commit(false, kv.Txn{If: []kv.Compare{{Key: x}}, Put: []kv.Write{put(x, `3`)}})
	b.wants(x, `2`)
}

func changesAllOrNothing(b *bench) {
	x, y, z := key("x", ""), key("y", ""), key("z", "")
	version := b.write(x, `1`)
	wrong := []kv.Compare{{Key: x, Version: version}, {Key: y, Version: version}}
	b.commit(false, kv.Txn{If: wrong, Put: []kv.Write{put(z, `1`)}, Delete: []kv.Key{x}})
	b.wants(x, `1`)
	b.wants(z, "")
	right := []kv.Compare{{Key: x, Version: version}, {Key: y}}
	b.commit(true, kv.Txn{If: right, Put: []kv.Write{put(z, `1`), put(y, `2`)}, Delete: []kv.Key{x}})
	b.wants(x, "")
	b.wants(y, `2`)
	b.wants(z, `1`)
}

func comparesWhatIsAbsent(b *bench) {
	x := key("x", "")
	absent := []kv.Compare{{Key: x}}
	b.commit(true, kv.Txn{If: absent, Put: []kv.Write{put(x, `1`)}})
	b.commit(false, kv.Txn{If: absent, Put: []kv.Write{put(x, `2`)}})
	b.commit(true, kv.Txn{Delete: []kv.Key{x}})
	b.commit(true, kv.Txn{If: absent, Put: []kv.Write{put(x, `3`)}})
	b.wants(x, `3`)
}

// A late request that names what was deleted and made again must lose.
func versionsDoNotRepeat(b *bench) {
	x, seen := key("x", ""), map[uint64]bool{}
	for n := range 50 {
		version := b.write(x, fmt.Sprint(n))
		if seen[version] {
			b.Fatalf("version %d was given twice", version)
		}
		seen[version] = true
		if n%2 == 0 {
			b.commit(true, kv.Txn{Delete: []kv.Key{x}})
		}
	}
}

func anotherIncarnationLoses(b *bench) {
	x := key("x", "")
	version := b.write(x, `1`)
	_, incarnation := b.read(x)
	b.commit(false, kv.Txn{Incarnation: incarnation + "'", Put: []kv.Write{put(x, `2`)}})
	if b.backend.NextIncarnation == nil {
		return
	}
	b.backend.NextIncarnation(b, b.store)
	r, next := b.read(x)
	if next == incarnation || string(r.Value) != `1` {
		b.Errorf("in the next incarnation, %q after %q, x is %s", next, incarnation, r.Value)
	}
	same := []kv.Compare{{Key: x, Version: version}}
	b.commit(false, kv.Txn{Incarnation: incarnation, If: same, Put: []kv.Write{put(x, `2`)}})
	b.commit(true, kv.Txn{Incarnation: next, If: []kv.Compare{{Key: x, Version: r.Version}}, Put: []kv.Write{put(x, `3`)}})
}

func keepsEveryByte(b *bench) {
	for n, value := range []string{
		`{"b":1,"a":[1.50,1e3], "b":2}`, `"\u0000 é \u00e9 <&>"`, `null`, `"` + strings.Repeat("x", 100_000) + `"`, `12345678901234567890.10`,
	} {
		b.write(key("x", fmt.Sprint(n)), value)
		b.wants(key("x", fmt.Sprint(n)), value)
	}
}

// Keys of two kinds differ, even if their names are the same.
func keepsEveryKind(b *bench) {
	var t kv.Txn
	for _, kind := range []kv.Kind{kv.Claims, kv.Leases, kv.Entries, kv.Commands} {
		t.Put = append(t.Put, put(kv.Key{Kind: kind, Name: "x", Sub: "1"}, `"`+string(kind)+`"`))
	}
	b.commit(true, t)
	for _, w := range t.Put {
		b.wants(w.Key, string(w.Value))
		lists, _, err := b.store.List(b.Context(), kv.All(w.Key.Kind))
		if err != nil || len(lists[0]) != 1 {
			b.Errorf("of the kind %s it lists %v, %v", w.Key.Kind, lists, err)
		}
	}
}

// slack is how far a server may set its clock back between two calls.
const slack = time.Second

func clockAndIncarnationStay(b *bench) {
	_, first, err := b.store.Read(b.Context(), key("x", ""))
	if err != nil {
		b.Fatal(err)
	}
	for range 20 {
		_, listed, err := b.store.List(b.Context(), kv.All(kv.Claims))
		if err != nil {
			b.Fatal(err)
		}
		o := b.commit(true, kv.Txn{Put: []kv.Write{put(key("x", ""), `1`)}})
		if listed.Incarnation != first.Incarnation || o.Stamp.Incarnation != first.Incarnation {
			b.Fatalf("incarnation %q, then %q and %q", first.Incarnation, listed.Incarnation, o.Stamp.Incarnation)
		}
		if b.backend.Clockless {
			if !first.Now.IsZero() || !listed.Now.IsZero() || !o.Stamp.Now.IsZero() {
				b.Fatalf("a store without a clock says %v, %v and %v", first.Now, listed.Now, o.Stamp.Now)
			}
			continue
		}
		if first.Now.IsZero() || listed.Now.Before(first.Now.Add(-slack)) || o.Stamp.Now.Before(listed.Now.Add(-slack)) {
			b.Fatalf("the clock says %v, then %v and %v", first.Now, listed.Now, o.Stamp.Now)
		}
		first = o.Stamp
	}
}

func refusesWhatIsTooLarge(b *bench) {
	l := b.store.Limits()
	if l.Keys < 100 || l.Bytes < 512<<10 {
		b.Fatalf("limits %+v: locks and logs need at least 100 keys and 512 KiB", l)
	}
	x := key("x", "")
	large := kv.Txn{Put: []kv.Write{{Key: x, Value: json.RawMessage(`"` + strings.Repeat("x", l.Bytes) + `"`)}}}
	many := kv.Txn{}
	for n := range l.Keys + 1 {
		many.Put = append(many.Put, put(key("x", fmt.Sprint(n)), `1`))
	}
	for _, t := range []kv.Txn{large, many} {
		_, t.Incarnation = b.read(x)
		if o, err := b.store.Commit(b.Context(), t); !errors.Is(err, kv.ErrTooLarge) {
			b.Errorf("a transaction beyond %+v = %+v, %v, want %v", l, o, err, kv.ErrTooLarge)
		}
	}
	b.wants(x, "")
	b.wants(key("x", "0"), "")
	many.Put = many.Put[:l.Keys]
	b.commit(true, many)
}

func refusesWrongTransactions(b *bench) {
	x := key("x", "")
	_, incarnation := b.read(x)
	for _, t := range []kv.Txn{
		{Put: []kv.Write{put(x, `1`), put(x, `2`)}},
		{Put: []kv.Write{put(x, `1`)}, Delete: []kv.Key{x}},
		{Put: []kv.Write{put(key("a\x00b", ""), `1`)}},
		{Put: []kv.Write{put(kv.Key{Name: "x"}, `1`)}},
	} {
		t.Incarnation = incarnation
		if o, err := b.store.Commit(b.Context(), t); err == nil || errors.Is(err, kv.ErrUnavailable) {
			b.Errorf("Commit(%+v) = %+v, %v, want an error that trying again cannot help", t, o, err)
		}
	}
	b.wants(x, "")
}

func endedContextIsAnError(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	_, incarnation := b.read(key("x", ""))
	cancel()
	_, _, read := b.store.Read(ctx, key("x", ""))
	_, _, list := b.store.List(ctx, kv.All(kv.Claims))
	_, commit := b.store.Commit(ctx, kv.Txn{Incarnation: incarnation, Put: []kv.Write{put(key("y", ""), `1`)}})
	for _, err := range []error{read, list, commit} {
		if !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			b.Errorf("with an ended context: %v, want %v joined with %v", err, kv.ErrUnavailable, context.Canceled)
		}
	}
}

// errorsSayIfUnknown ends the contexts of commits at some moment of their way. Only an error
// that says that the store did not answer may hide a commit.
func errorsSayIfUnknown(b *bench) {
	for round := range max(20, b.backend.Rounds/10) {
		k := key("x", fmt.Sprint(round))
		_, incarnation := b.read(k)
		ctx, cancel := context.WithTimeout(b.Context(), time.Duration(round)*50*time.Microsecond)
		o, err := b.store.Commit(ctx, kv.Txn{Incarnation: incarnation, Put: []kv.Write{put(k, `1`)}})
		cancel()
		switch {
		case err == nil && o.Won:
			b.wants(k, `1`)
		case !kv.Unknown(err):
			b.wants(k, "")
		}
	}
}

func listsInOrder(b *bench) {
	names := []string{"a", "A", "a-b", "a/b", "a b", "ab", "aé", "é", "z", "~", "a\x01", "0", "00", "Z_", "-", "%"}
	var want []string
	for _, name := range names {
		for _, sub := range []string{"", "b", "B", "-", "é"} {
			b.write(key(name, sub), `1`)
			want = append(want, name+"\x00"+sub)
		}
	}
	b.write(kv.Key{Kind: kv.Entries, Name: "a"}, `1`)
	slices.Sort(want)
	b.lists("all claims", want, kv.All(kv.Claims))
}

// lists checks the keys in a range, as names, a zero byte and subs.
func (b *bench) lists(what string, want []string, r kv.Range) {
	b.Helper()
	lists, _, err := b.store.List(b.Context(), r)
	if err != nil || len(lists) != 1 {
		b.Fatalf("%s: %v", what, err)
	}
	var got []string
	for _, r := range lists[0] {
		got = append(got, r.Key.Name+"\x00"+r.Key.Sub)
	}
	if !slices.Equal(got, want) {
		b.Errorf("%s: listed\n%q, want\n%q", what, got, want)
	}
}

func listsRanges(b *bench) {
	for _, name := range []string{"a", "ab", "b"} {
		for n := range 5 {
			b.write(key(name, fmt.Sprint(n)), `1`)
		}
	}
	limited := kv.Of(kv.Claims, "a")
	limited.Limit = 2
	b.lists("those of a", keys("a", 0, 1, 2, 3, 4), kv.Of(kv.Claims, "a"))
	b.lists("two of a", keys("a", 0, 1), limited)
	b.lists("from 3", keys("ab", 3, 4), kv.Between(kv.Claims, "ab", "3", ""))
	b.lists("between 1 and 3", keys("b", 1, 2), kv.Between(kv.Claims, "b", "1", "3"))
	b.lists("of nobody", nil, kv.Of(kv.Claims, "c"))
	b.lists("of another kind", nil, kv.Of(kv.Logs, "a"))
	rest := kv.All(kv.Claims)
	rest.From = kv.Point{Name: "ab", Sub: "4"}
	b.lists("the rest", append(keys("ab", 4), keys("b", 0, 1, 2, 3, 4)...), rest)
	lists, _, err := b.store.List(b.Context(), kv.Of(kv.Claims, "b"), kv.Of(kv.Claims, "c"), limited)
	if err != nil || len(lists) != 3 || len(lists[0]) != 5 || len(lists[1]) != 0 || len(lists[2]) != 2 {
		b.Errorf("three ranges: %v, %v", lists, err)
	}
}

func keys(name string, subs ...int) []string {
	var list []string
	for _, n := range subs {
		list = append(list, strings.Join([]string{name, fmt.Sprint(n)}, "\x00"))
	}
	return list
}
