package redisledger

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/redlock/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A merger combines the answers of several nodes about the same ticks.
type merger struct {
	quorum, answered int
	claims           map[claimKey]*claim
	notRun           map[tickKey]records.Record // the highest of each tick
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
	record records.Record // F is preferred to L, and L to S
	nodes  int            // nodes that know it
	held   bool           // some node holds the lock for its owner
}

func newMerger(quorum, answered int) merger {
	return merger{
		quorum: quorum, answered: answered,
		claims: map[claimKey]*claim{}, notRun: map[tickKey]records.Record{},
	}
}

// add adds a record of a node where the given owners have a lock; "" is none.
func (m *merger) add(r records.Record, owners ...string) {
	tick := tickKey{r.Stream, r.Tick.UnixMilli()}
	if r.Kind == records.NotRun {
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
func certainty(r records.Record) int { return strings.IndexByte("SLF", r.Kind) }

func (c *claim) finished() bool { return c.record.Kind != records.Started }

// forgetUpTo drops ticks up to the given one.
func (m *merger) forgetUpTo(tick int64) {
	maps.DeleteFunc(m.claims, func(k claimKey, _ *claim) bool { return k.tick <= tick })
	maps.DeleteFunc(m.notRun, func(k tickKey, _ records.Record) bool { return k.tick <= tick })
}

// known is an entry and how certain it is.
type known struct {
	ledger.Entry
	// doubtful: fewer than a quorum know of a claim that was never finished.
	doubtful bool
}

// known returns one entry per claim and per recorded tick, unsorted.
func (m *merger) known(job string) ([]known, error) {
	maps.DeleteFunc(m.notRun, func(k tickKey, _ records.Record) bool { return m.trimmed && k.tick <= m.gone })
	var all []known
	for _, c := range m.claims {
		k, err := c.entry(job, m.quorum, m.answered)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	countAttempts(all)
	for tick, r := range m.notRun {
		e, err := ledger.DecodeNote(r.Note)
		if err != nil {
			return nil, err
		}
		all = append(all, known{Entry: e.Placed(job, tick.stream, time.UnixMilli(tick.tick).UTC())})
	}
	return all, nil
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

func (c *claim) entry(job string, quorum, answered int) (known, error) {
	e, err := ledger.DecodeNote(c.record.Note)
	if err != nil {
		return known{}, err
	}
	e = e.Placed(job, c.record.Stream, c.record.Tick)
	e.Token = locking.Token(c.record.Token)
	switch {
	case c.record.Kind == records.Late:
		if e.Outcome != ledger.LeaseLost { // else the run knew
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
		}
	case c.finished():
	case c.held:
		e.Outcome = ledger.Running
	default:
		e.Outcome, e.Reason = ledger.Interrupted, c.interrupted(quorum, answered)
	}
	return known{Entry: e, doubtful: !c.finished() && c.nodes < quorum}, nil
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
