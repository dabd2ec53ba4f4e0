package kvtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/single/kv"
)

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
