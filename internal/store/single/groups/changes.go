package groups

import (
	"encoding/json"
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Change is what a transaction does with a key.
type Change struct {
	Key    kv.Key
	Op     Op
	Wanted int64 // the version that it has to have; -1: any
	Value  json.RawMessage
}

// An Op is the kind of a Change.
type Op string

// The kinds of changes.
const (
	Put    Op = "put"
	Delete Op = "delete"
	If     Op = "if" // nothing: the version is compared alone
)

// Changes lists what t does, in the order of keys, and a change before further conditions on its
// key.
func Changes(t kv.Txn) []Change {
	var list []Change
	at := map[kv.Key]int{}
	add := func(c Change) {
		at[c.Key] = len(list)
		list = append(list, c)
	}
	for _, w := range t.Put {
		add(Change{w.Key, Put, -1, w.Value})
	}
	for _, k := range t.Delete {
		add(Change{k, Delete, -1, nil})
	}
	for _, c := range t.If {
		if i, changed := at[c.Key]; changed && list[i].Wanted < 0 {
			list[i].Wanted = int64(c.Version)
			continue
		}
		add(Change{c.Key, If, int64(c.Version), nil})
	}
	slices.SortStableFunc(list, func(a, b Change) int { return a.Key.Compare(b.Key) })
	return list
}
