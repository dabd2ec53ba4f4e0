package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A merger combines the answers of several nodes about the same ticks.
type merger struct {
	quorum, answered int
	claims           map[claimKey]*claim
	notRun           map[tickKey]scripts.Record // the highest of each tick
	unreadable       map[tickKey]error          // ticks with a record that cannot be read
	unread           *unreadable.Log
	// If records were trimmed, gone is the latest tick with a dropped record, in
	// milliseconds. Up to it, it is unknown whether a tick ran.
	trimmed bool
	gone    int64
}

type tickKey struct {
	stream string
	tick   int64 // milliseconds
}

type claimKey struct {
	tickKey
	token uint64
}

// A claim is what is known of one claim.
type claim struct {
	record scripts.Record // F is preferred to L, and L to S
	nodes  int            // nodes that know it
	held   bool           // some node holds the lock for its owner
}

func newMerger(quorum, answered int) merger {
	return merger{
		quorum: quorum, answered: answered,
		claims: map[claimKey]*claim{}, notRun: map[tickKey]scripts.Record{}, unreadable: map[tickKey]error{},
	}
}

// add adds a record of a node where the given owners have a lock; "" is none.
func (m *merger) add(r scripts.Record, owners ...string) {
	tick := tickKey{r.Stream, r.Tick.UnixMilli()}
	if r.Kind == scripts.NotRun {
		if best, ok := m.notRun[tick]; !ok || r.Rank > best.Rank || r.Rank == best.Rank && bytes.Compare(r.Note, best.Note) > 0 {
			m.notRun[tick] = r
		}
		return
	}
	key := claimKey{tick, r.Token}
	c := m.claims[key]
	if c == nil {
		c = &claim{record: r}
		m.claims[key] = c
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
func (m *merger) forgetUpTo(tick int64) {
	maps.DeleteFunc(m.claims, func(k claimKey, _ *claim) bool { return k.tick <= tick })
	maps.DeleteFunc(m.notRun, func(k tickKey, _ scripts.Record) bool { return k.tick <= tick })
	maps.DeleteFunc(m.unreadable, func(k tickKey, _ error) bool { return k.tick <= tick })
}

// known is an entry and how certain it is.
type known struct {
	ledger.Entry
	// doubtful: fewer than a quorum know of a claim that was never finished.
	doubtful bool
}

// known returns one entry per claim and per recorded tick, unsorted.
func (m *merger) known(job string) []known {
	maps.DeleteFunc(m.notRun, func(k tickKey, _ scripts.Record) bool { return m.trimmed && k.tick <= m.gone })
	var all []known
	for _, c := range m.claims {
		all = append(all, c.entry(job, m.note(job, c.record), m.quorum, m.answered))
	}
	countAttempts(all)
	for tick, r := range m.notRun {
		all = append(all, known{Entry: m.note(job, r).Placed(job, tick.stream, time.UnixMilli(tick.tick).UTC())})
	}
	for tick, err := range m.unreadable {
		all = append(all, known{Entry: unreadable.Entry(err).Placed(job, tick.stream, time.UnixMilli(tick.tick).UTC())})
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
	m.unreadable[tickKey{stream, ms}] = err
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

func (k known) tick() tickKey { return tickKey{k.Stream, k.OrderKey().UnixMilli()} }

// countAttempts numbers the runs of each tick. Doubtful claims do not count for later
// ones.
func countAttempts(runs []known) {
	slices.SortFunc(runs, func(a, b known) int { return cmp.Compare(a.Token, b.Token) })
	began := map[tickKey]int{}
	for i := range runs {
		k := &runs[i]
		of := k.tick()
		k.Attempt = began[of] + 1
		if !k.doubtful {
			began[of]++
		}
	}
}

func (c *claim) entry(job string, e ledger.Entry, quorum, answered int) known {
	e = e.Placed(job, c.record.Stream, c.record.Tick)
	e.Token = locking.Token(c.record.Token)
	switch {
	case c.record.Kind == scripts.Late:
		if e.Outcome != ledger.LeaseLost && e.Outcome != ledger.Unreadable { // else the run knew
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
		}
	case c.finished():
	case c.held:
		e.Outcome = ledger.Running
	default:
		why := c.interrupted(quorum, answered)
		if e.Outcome == ledger.Unreadable {
			why = why.And(e.Reason)
		}
		e.Outcome, e.Reason = ledger.Interrupted, why
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
			certain[k.tick()] = true
		}
	}
	all = slices.DeleteFunc(all, func(k known) bool { return k.doubtful && certain[k.tick()] })
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
