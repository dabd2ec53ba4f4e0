package redisledger

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// A merger gathers what several nodes say of the same ticks.
type merger struct {
	quorum, answered int
	claims           map[claimKey]*claim
	notRun           map[tickKey]nodes.Record // the highest of each tick
	// If records were trimmed, gone is the latest tick of which a node has dropped one, in
	// milliseconds. Up to it nobody knows whether a tick ran.
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
	record nodes.Record // F rather than L rather than S
	nodes  int          // that know of it
	held   bool         // somewhere the lock is its owner's
}

func newMerger(quorum, answered int) merger {
	return merger{
		quorum: quorum, answered: answered,
		claims: map[claimKey]*claim{}, notRun: map[tickKey]nodes.Record{},
	}
}

// add takes in a record of a node whose lock, or shares of it, the given owners
// have.
func (m *merger) add(r nodes.Record, owners ...string) {
	tick := tickKey{r.Stream, r.Tick.UnixMilli()}
	if r.Kind == nodes.KindNotRun {
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
	c.held = c.held || slices.Contains(owners, r.Owner)
	if says(r) > says(c.record) {
		c.record = r
	}
}

// says orders the kinds of records of one claim by how much they tell.
func says(r nodes.Record) int { return strings.IndexByte("SLF", r.Kind) }

func (c *claim) finished() bool { return c.record.Kind != nodes.KindStarted }

// forgetUpTo drops what is known of ticks up to the given one.
func (m *merger) forgetUpTo(tick int64) {
	maps.DeleteFunc(m.claims, func(k claimKey, _ *claim) bool { return k.tick <= tick })
	maps.DeleteFunc(m.notRun, func(k tickKey, _ nodes.Record) bool { return k.tick <= tick })
}

// known is an entry and how sure it is.
type known struct {
	scheduler.Entry
	// doubtful: fewer than a quorum know of a claim that was never finished.
	doubtful bool
}

// known returns one entry per claim and per tick that was recorded, unsorted.
func (m *merger) known(job string) ([]known, error) {
	m.dropBallots()
	maps.DeleteFunc(m.notRun, func(k tickKey, _ nodes.Record) bool { return m.trimmed && k.tick <= m.gone })
	var all []known
	for _, c := range m.claims {
		k, err := c.entry(job, m.quorum, m.answered)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	for tick, r := range m.notRun {
		e, err := scheduler.DecodeNote(r.Note)
		if err != nil {
			return nil, err
		}
		all = append(all, known{Entry: e.Placed(job, tick.stream, time.UnixMilli(tick.tick).UTC())})
	}
	return all, nil
}

// dropBallots drops what an attempt asked for before it asked again with a
// larger token; a node may have missed that.
func (m *merger) dropBallots() {
	last := map[string]uint64{}
	for k, c := range m.claims {
		last[c.record.Owner] = max(last[c.record.Owner], k.token)
	}
	maps.DeleteFunc(m.claims, func(k claimKey, c *claim) bool {
		return !c.finished() && k.token < last[c.record.Owner]
	})
}

func (c *claim) entry(job string, quorum, answered int) (known, error) {
	e, err := scheduler.DecodeNote(c.record.Note)
	if err != nil {
		return known{}, err
	}
	e = e.Placed(job, c.record.Stream, c.record.Tick)
	e.Token, e.Attempt = locking.Token(c.record.Token), c.record.Attempt
	switch {
	case c.record.Kind == nodes.KindLate:
		if e.Outcome != scheduler.LeaseLost { // else the run knew
			e.Reason = e.Reason.And(scheduler.Reason{Code: scheduler.CodeLateEnd})
		}
	case c.finished():
	case c.held:
		e.Outcome = scheduler.Running
	default:
		e.Outcome, e.Reason = scheduler.Interrupted, c.interrupted(quorum, answered)
	}
	return known{Entry: e, doubtful: !c.finished() && c.nodes < quorum}, nil
}

// interrupted is the reason of a run that never ended.
func (c *claim) interrupted(quorum, answered int) scheduler.Reason {
	if c.nodes >= quorum {
		return scheduler.Reason{Code: scheduler.CodeInterrupted}
	}
	return scheduler.Reason{
		Code: scheduler.CodeInterrupted, Variant: scheduler.VariantDoubtful,
		Details: &scheduler.Details{N: c.nodes, Most: answered},
	}
}
