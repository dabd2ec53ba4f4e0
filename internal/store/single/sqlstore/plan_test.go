package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A database has what the tables have.
type database struct {
	records map[kv.Key]written
	slots   map[int]uint64
}

// lock is what the statements that lock do; taken are slots that others hold.
func (d *database) lock(p *plan, taken map[int]bool) {
	for _, n := range slices.Concat(p.changedSlots, p.comparedSlots) {
		if !taken[n] {
			p.find(slotsPart, kv.Record{Key: kv.Key{Name: fmt.Sprint(n)}, Version: d.slots[n]})
		}
	}
	for _, k := range slices.Concat(p.changedRecords, p.comparedRecords) {
		if w, exists := d.records[k]; exists {
			p.find(0, kv.Record{Key: k, Version: w.version})
		}
	}
}

// write is what the statements that write do.
func (d *database) write(t *rapid.T, p *plan) {
	for k, w := range p.written {
		if p.removed[k] {
			t.Fatalf("%v is written and removed", k)
		}
		d.records[k] = w
	}
	for k := range p.removed {
		delete(d.records, k)
	}
	for n := range p.raised {
		d.slots[n] = p.locked[n]
	}
}

// Groups decide as if their transactions came one after the other, and no key has a version twice.
func TestPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.SampledFrom([]int{1, 4}).Draw(t, "slots")
		d := &database{map[kv.Key]written{}, map[int]uint64{}}
		model, used := map[kv.Key]written{}, map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "groups") {
			list := drawGroup(t, model)
			p := newPlan(slots, list)
			taken := map[int]bool{rapid.IntRange(-20, slots+reservedSlots).Draw(t, "taken"): true}
			d.lock(p, taken)
			for _, tx := range list {
				v := p.decide(tx, kv.Stamp{Incarnation: "a"})
				if needs := slices.ContainsFunc(tx.changes, func(c groups.Change) bool { return needsSlot(c) && taken[p.slot(c.Key)] }); v.decided == needs {
					t.Fatalf("decided: %v, a slot is missing: %v", v.decided, needs)
				}
				if v.decided {
					follow(t, model, used, tx, v)
				}
			}
			d.write(t, p)
			if len(d.records) != len(model) {
				t.Fatalf("%d records, want %d", len(d.records), len(model))
			}
			for k, w := range model {
				if got := d.records[k]; got.version != w.version || string(got.value) != string(w.value) {
					t.Fatalf("%v is %+v, want %+v", k, got, w)
				}
			}
		}
	})
}

// drawGroup draws transactions, most of which compare the versions that they would find.
func drawGroup(t *rapid.T, model map[kv.Key]written) (list []transaction) {
	for range rapid.IntRange(1, 4).Draw(t, "transactions") {
		var txn kv.Txn
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 4, rapid.ID).Draw(t, "keys") {
			k := kv.Key{Kind: rapid.SampledFrom([]kv.Kind{kv.Claims, kv.Cluster}).Draw(t, "kind"), Name: name}
			switch rapid.IntRange(0, 4).Draw(t, "compares") {
			case 0:
			case 1:
				txn.If = append(txn.If, kv.Compare{Key: k, Version: rapid.Uint64Range(0, 3).Draw(t, "version")})
			default:
				txn.If = append(txn.If, kv.Compare{Key: k, Version: model[k].version})
			}
			switch rapid.IntRange(0, 3).Draw(t, "does") {
			case 0:
				txn.Delete = append(txn.Delete, k)
			case 1, 2:
				txn.Put = append(txn.Put, kv.Write{Key: k, Value: json.RawMessage(fmt.Sprint(rapid.Int().Draw(t, "value")))})
			}
		}
		list = append(list, transaction{rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "incarnation"), groups.Changes(txn)})
	}
	return list
}

// follow decides a transaction by the words of the contract, and compares the verdict.
func follow(t *rapid.T, model map[kv.Key]written, used map[string]bool, tx transaction, v verdict) {
	won := tx.incarnation == "a"
	for _, c := range tx.changes {
		won = won && (c.Wanted < 0 || uint64(c.Wanted) == model[c.Key].version)
	}
	if v.Won != won {
		t.Fatalf("%+v on %+v: won %v, want %v", tx, model, v.Won, won)
	}
	for _, c := range tx.changes {
		switch {
		case !won, c.Op == groups.If:
		case c.Op == groups.Delete:
			delete(model, c.Key)
		default:
			model[c.Key] = written{v.Version, c.Value}
			name := fmt.Sprint(c.Key, " ", v.Version)
			if v.Version == 0 || used[name] {
				t.Fatalf("%s was there before", name)
			}
			used[name] = true
		}
	}
}

// Ranges become conditions in which planners see the one name that most have.
func TestWithin(t *testing.T) {
	t.Parallel()
	rest := kv.All(kv.Claims)
	rest.From, rest.To = kv.Point{Name: "a", Sub: "1"}, kv.Point{Name: "c", Sub: "2"}
	for _, c := range []struct {
		r    kv.Range
		want string
	}{
		{kv.All(kv.Claims), "kind = ?"},
		{kv.Of(kv.Claims, "a"), "kind = ? AND name = ? AND sub >= ?"},
		{kv.Only(kv.Key{Kind: kv.Claims, Name: "a"}), "kind = ? AND name = ? AND sub >= ? AND sub < ?"},
		{kv.Between(kv.Claims, "a", "1", ""), "kind = ? AND name = ? AND sub >= ?"},
		{kv.Between(kv.Claims, "a", "1", "2"), "kind = ? AND name = ? AND sub >= ? AND sub < ?"},
		{rest, "kind = ? AND (name > ? OR (name = ? AND sub >= ?)) AND (name < ? OR (name = ? AND sub < ?))"},
	} {
		if got, args := within(c.r); got != c.want || len(args) != strings.Count(got, "?") {
			t.Errorf("%+v: %s with %v, want %s", c.r, got, args, c.want)
		}
	}
}
