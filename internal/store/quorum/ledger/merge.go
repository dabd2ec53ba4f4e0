package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A merger combines the answers of several nodes about the same ticks.
type merger struct {
	quorum, answered int
	ticks            map[tickKey]*tickFacts
	unread           *unreadable.Log
	// If records were trimmed, gone is the latest tick with a dropped record, in
	// milliseconds. Up to it, it is unknown whether a tick ran.
	trimmed bool
	gone    int64
	// Of the dropped runs that recorded such an end.
	success, failure droppedRun
}

// A droppedRun is the newest dropped run of a kind.
type droppedRun struct {
	nodes  int   // that know it, or have dropped no run
	newest int64 // in milliseconds; 0: these have dropped no run
}

func (d *droppedRun) add(ms int64, ok bool) {
	if ok && ms >= 0 {
		d.newest = max(d.newest, ms)
		d.nodes++
	}
}

// at is its order key, if enough nodes know it: any quorum has a node with the end of each run.
func (d droppedRun) at(quorum int) time.Time {
	if d.nodes < quorum || d.newest == 0 {
		return time.Time{}
	}
	return time.UnixMilli(d.newest).UTC()
}

// A tickFacts is what is known of one tick.
type tickFacts struct {
	claims     map[uint64]*claim // by token
	notRun     *scripts.Record   // the highest; nil: none
	unreadable error             // why one of its records cannot be read
}

type tickKey struct {
	stream string
	ms     int64
}

// A claim is what is known of one claim.
type claim struct {
	record scripts.Record // F is preferred to L, and L to S
	nodes  int            // nodes that know it
	held   bool           // some node holds the lock for its owner
}

func newMerger(quorum, answered int) merger {
	return merger{quorum: quorum, answered: answered, ticks: map[tickKey]*tickFacts{}}
}

func (m *merger) at(key tickKey) *tickFacts {
	t := m.ticks[key]
	if t == nil {
		t = &tickFacts{claims: map[uint64]*claim{}}
		m.ticks[key] = t
	}
	return t
}

// add adds a record of a node where the given owners have a lock; "" is none.
func (m *merger) add(r scripts.Record, owners ...string) {
	t := m.at(tickKey{r.Stream, r.Tick.UnixMilli()})
	if r.Kind == scripts.NotRun {
		if best := t.notRun; best == nil || r.Rank > best.Rank || r.Rank == best.Rank && bytes.Compare(r.Note, best.Note) > 0 {
			t.notRun = &r
		}
		return
	}
	c := t.claims[r.Token]
	if c == nil {
		c = &claim{record: r}
		t.claims[r.Token] = c
	}
	c.nodes++
	c.held = c.held || r.Owner != "" && slices.Contains(owners, r.Owner)
	if certainty(r) > certainty(c.record) {
		c.record = r
	}
}

// certainty orders the kinds of records of one claim.
func certainty(r scripts.Record) int { return strings.IndexByte("SLF", r.Kind) }

func (c *claim) finished() bool { return c.record.Kind != scripts.Started }

// forgetUpTo drops ticks up to the given one.
func (m *merger) forgetUpTo(ms int64) {
	maps.DeleteFunc(m.ticks, func(k tickKey, _ *tickFacts) bool { return k.ms <= ms })
}

// known is an entry and how certain it is.
type known struct {
	ledger.Entry
	// doubtful: fewer than a quorum know of a claim that was never finished.
	doubtful bool
}

// known returns one entry per claim and per recorded tick, unsorted. It numbers the runs of each
// tick. Doubtful claims do not count for later ones.
func (m *merger) known(job string) []known {
	var all []known
	for key, t := range m.ticks {
		attempt := 1
		for _, token := range slices.Sorted(maps.Keys(t.claims)) {
			c := t.claims[token]
			k := c.entry(job, m.note(job, c.record), m.quorum, m.answered)
			k.Attempt = attempt
			if !k.doubtful {
				attempt++
			}
			all = append(all, k)
		}
		at := time.UnixMilli(key.ms).UTC()
		if t.notRun != nil && (!m.trimmed || key.ms > m.gone) {
			all = append(all, known{Entry: m.note(job, *t.notRun).Placed(job, key.stream, at)})
		}
		if t.unreadable != nil {
			all = append(all, known{Entry: unreadable.Entry(t.unreadable).Placed(job, key.stream, at)})
		}
	}
	return all
}

// skip adds a record that cannot be read, by its score.
func (m *merger) skip(job, score, text string, err error) {
	m.unread.Skipped(fmt.Sprintf("ledger %s %s %s", job, score, text), err)
	ms, _ := strconv.ParseInt(score, 10, 64) // of a script
	stream := locking.StreamSchedule
	if head, _, found := strings.Cut(text, "|"); found && len(head) > 1 && len(head) < 100 && !strings.Contains(head, " ") {
		stream = head[1:]
	}
	m.at(tickKey{stream, ms}).unreadable = err
}

// note is what is known of a record by its note.
func (m *merger) note(job string, r scripts.Record) ledger.Entry {
	e, err := ledger.DecodeNote(r.Note)
	if err != nil {
		m.unread.Skipped(fmt.Sprintf("ledger %s %s", job, r.Encode()), err)
		return unreadable.Entry(err)
	}
	return e
}

func (k known) key() tickKey { return tickKey{k.Stream, k.OrderKey().UnixMilli()} }

func (c *claim) entry(job string, e ledger.Entry, quorum, answered int) known {
	e = e.Placed(job, c.record.Stream, c.record.Tick)
	e.Token = locking.Token(c.record.Token)
	switch {
	case c.record.Kind == scripts.Late:
		e = listing.Late(e)
	case c.finished():
	case c.held:
		e.Outcome = ledger.Running
	default:
		e = listing.Interrupted(e, c.interrupted(quorum, answered))
	}
	return known{Entry: e, doubtful: !c.finished() && c.nodes < quorum}
}

// interrupted is the reason of a run that never ended.
func (c *claim) interrupted(quorum, answered int) ledger.Reason {
	if c.nodes >= quorum {
		return ledger.Reason{Code: ledger.CodeInterrupted}
	}
	return ledger.Reason{
		Code: ledger.CodeInterrupted, Variant: ledger.VariantDoubtful,
		Details: &ledger.Details{N: c.nodes, Most: answered},
	}
}

// runs returns the runs among all, sorted.
func runs(all []known) []ledger.Entry {
	return entries(slices.DeleteFunc(all, func(k known) bool { return !k.Ran() }))
}

// ticks returns one entry per tick, sorted. A doubtful claim gives way to a certain run
// of the same tick: it was an attempt that lost.
func ticks(all []known) []ledger.Entry {
	certain := map[tickKey]bool{}
	for _, k := range all {
		if k.Ran() && !k.doubtful {
			certain[k.key()] = true
		}
	}
	all = slices.DeleteFunc(all, func(k known) bool { return k.doubtful && certain[k.key()] })
	return ledger.OnePerTick(entries(all))
}

func entries(all []known) []ledger.Entry {
	list := make([]ledger.Entry, len(all))
	for i, k := range all {
		list[i] = k.Entry
	}
	ledger.Sort(list)
	return list
}
