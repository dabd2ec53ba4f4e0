package sqlstore

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A plan is what transactions need, what the database has of it, and what they make of that.
type plan struct {
	slots int // as in Config

	changedSlots, comparedSlots     []int
	changedRecords, comparedRecords []kv.Key

	versions map[kv.Key]uint64 // of the records that exist
	locked   map[int]uint64    // the versions of the slots that could be locked

	written map[kv.Key]written
	removed map[kv.Key]bool
	raised  map[int]bool // slots whose versions have grown
}

// written is what stands under a key afterwards.
type written struct {
	version uint64
	value   json.RawMessage
}

// newPlan says what the transactions need: each slot and each record once, to change it rather than to
// compare it.
func newPlan(slots int, list []transaction) *plan {
	p := &plan{
		slots: slots, versions: map[kv.Key]uint64{}, locked: map[int]uint64{},
		written: map[kv.Key]written{}, removed: map[kv.Key]bool{}, raised: map[int]bool{},
	}
	slotChanges, keyChanges := map[int]bool{}, map[kv.Key]bool{}
	for _, t := range list {
		for _, c := range t.changes {
			changes := c.Op != groups.If
			keyChanges[c.Key] = keyChanges[c.Key] || changes
			if needsSlot(c) {
				slot := p.slot(c.Key)
				slotChanges[slot] = slotChanges[slot] || changes
			}
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(slotChanges)) {
		if slotChanges[slot] {
			p.changedSlots = append(p.changedSlots, slot)
		} else {
			p.comparedSlots = append(p.comparedSlots, slot)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(keyChanges), kv.Key.Compare) {
		if keyChanges[key] {
			p.changedRecords = append(p.changedRecords, key)
		} else {
			p.comparedRecords = append(p.comparedRecords, key)
		}
	}
	return p
}

// needsSlot reports whether the key may not exist, before the change or after it. A record that has to
// have a version is locked itself: if it does not exist, the transaction has lost.
func needsSlot(c groups.Change) bool { return c.Wanted <= 0 || c.Op == groups.Delete }

// reservedSlots are those of the few keys of the kind cluster, which all claims compare: no other
// transaction should keep them from that.
const reservedSlots = 16

// slot is that of a key.
func (p *plan) slot(k kv.Key) int { return slotOf(k, p.slots) }

// slotOf is the slot of a key, of so many.
func slotOf(k kv.Key, slots int) int {
	if slots == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(string(k.Kind) + "\x00" + k.Name + "\x00" + k.Sub))
	if k.Kind == kv.Cluster {
		return slots + int(h.Sum32()%reservedSlots)
	}
	return int(h.Sum32() % uint32(slots))
}

// find takes a row of the statements that lock. The name of a slot is its number.
func (p *plan) find(part int, r kv.Record) {
	if part != slotsPart {
		p.versions[r.Key] = r.Version
		return
	}
	number, _ := strconv.Atoi(r.Key.Name) // it is one
	p.locked[number] = r.Version
}

// decide decides a transaction, and notes what it changes.
func (p *plan) decide(t transaction, now kv.Stamp) verdict {
	lost := verdict{decided: true, Outcome: kv.Outcome{Stamp: now}}
	won, puts, top := t.incarnation == now.Incarnation, false, uint64(0)
	for _, c := range t.changes {
		slot, version := uint64(0), p.versions[c.Key]
		if needsSlot(c) {
			var locked bool
			if slot, locked = p.locked[p.slot(c.Key)]; !locked {
				return verdict{}
			}
		}
		won = won && (c.Wanted < 0 || uint64(c.Wanted) == version)
		if c.Op == groups.Put {
			puts, top = true, max(top, version, slot)
		}
	}
	if !won {
		return lost
	}
	for _, c := range t.changes {
		switch c.Op {
		case groups.Put:
			p.put(c, top+1)
		case groups.Delete:
			p.remove(c.Key)
		}
	}
	o := kv.Outcome{Won: true, Stamp: now}
	if puts {
		o.Version = top + 1
	}
	return verdict{o, true}
}

func (p *plan) put(c groups.Change, version uint64) {
	p.versions[c.Key], p.written[c.Key] = version, written{version, c.Value}
	delete(p.removed, c.Key)
}

func (p *plan) remove(k kv.Key) {
	version, exists := p.versions[k]
	if !exists {
		return
	}
	slot := p.slot(k)
	p.locked[slot] = max(p.locked[slot], version)
	p.raised[slot], p.removed[k] = true, true
	delete(p.versions, k)
	delete(p.written, k)
}

// isIdle reports whether there is nothing to write.
func (p *plan) isIdle() bool { return len(p.written)+len(p.removed) == 0 }

// slotsPart is the part of rows that are slots.
const slotsPart = 1

// locking locks what the plan needs, and reads the versions of that. Slots come first: a record is made or
// deleted only by who has its slot. They have a statement of their own, since MariaDB cannot skip what
// others have locked, and fail because of it, in one.
func (t Texts) locking(p *plan) []statement {
	slots, all := &union{t: t}, t.life(t.CompareRecords)
	addSlots := func(numbers []int, lock string) {
		var args []any
		for _, n := range numbers {
			args = append(args, n)
		}
		if len(numbers) > 0 {
			slots.add("SELECT "+strconv.Itoa(slotsPart)+", '', id, '', version, NULL FROM {t}slots WHERE id IN ("+list("?", ", ", len(numbers))+")"+lock, args...)
		}
	}
	addRecords := func(keys []kv.Key, lock string) {
		for some := range slices.Chunk(keys, mostInPart) {
			condition, args := among(some)
			all.add("SELECT 0, kind, name, sub, version, NULL FROM {t}records"+t.ByKey+" WHERE "+condition+lock, args...)
		}
	}
	addSlots(p.changedSlots, t.ChangeSlots)
	addSlots(p.comparedSlots, t.CompareSlots)
	addRecords(p.changedRecords, t.ChangeRecords)
	addRecords(p.comparedRecords, t.CompareRecords)
	if len(slots.parts) == 0 {
		return []statement{all.statement(1)}
	}
	return []statement{slots.statement(slotsPart + 1), all.statement(1)}
}

// writing makes what was decided.
func (t Texts) writing(p *plan) (all []statement) {
	var args []any
	if len(p.written) > 0 {
		for _, k := range slices.SortedFunc(maps.Keys(p.written), kv.Key.Compare) {
			w := p.written[k]
			args = append(args, string(k.Kind), k.Name, k.Sub, int64(w.version), string(w.value))
		}
		all = append(all, statement{text: t.in("INSERT INTO {t}records (kind, name, sub, version, value) VALUES " +
			list("(?, ?, ?, ?, ?)", ", ", len(p.written)) + t.OverRecords), args: args})
	}
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(p.removed), kv.Key.Compare), mostInPart) {
		condition, args := among(some)
		all = append(all, statement{text: t.in("DELETE " + t.Deleted + "FROM {t}records" + t.ByKey + " WHERE " + condition), args: args})
	}
	if len(p.raised) > 0 {
		var args []any
		for _, n := range slices.Sorted(maps.Keys(p.raised)) {
			args = append(args, n, int64(p.locked[n]))
		}
		all = append(all, statement{text: t.in("INSERT INTO {t}slots (id, version) VALUES " + list("(?, ?)", ", ", len(p.raised)) + t.OverSlots), args: args})
	}
	return all
}
