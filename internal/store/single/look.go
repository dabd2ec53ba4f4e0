package single

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// A Look is what one request shows of the store.
type Look struct {
	Incarnation string // as in a kv.Stamp
	RTT         time.Duration
	Offset      time.Duration // how far its clock is ahead of the local one
	// Since is the store's clock when its incarnation was first seen; zero if it was declared new.
	Since time.Time
	// Unnoted is whether nobody has noted its incarnation yet; see [Cluster.NoteIncarnation].
	Unnoted bool
	// VouchesAt is when it may grant ticks, by the local clock; zero: now.
	VouchesAt time.Time
}

// Look asks the store how it is, and changes nothing.
func (c *Cluster) Look(ctx context.Context) (Look, error) {
	began := time.Now()
	list, stamp, err := c.heard.Read(ctx, records.IncarnationKey())
	if err != nil {
		return Look{}, err
	}
	incarnation, err := records.UsableIncarnation(list[0])
	if err != nil {
		return Look{}, err
	}
	rtt := time.Since(began)
	look := Look{Incarnation: stamp.Incarnation, RTT: rtt, Offset: answer{stamp, began, began.Add(rtt)}.offset()}
	if incarnation, look.Unnoted = incarnation.Now(stamp, c.Grace); incarnation.Since == 0 {
		return look, nil
	}
	look.Since = time.UnixMilli(incarnation.Since).UTC()
	if left := look.Since.Add(c.Grace).Sub(stamp.At()); left >= 0 {
		look.VouchesAt = time.Now().Add(left)
	}
	return look, nil
}

// Probe writes a record that nobody reads. A store that answers may still take no writes: it is
// full, for example, or its user may only read.
func (c *Cluster) Probe(ctx context.Context, l Look) error {
	o, err := c.heard.Commit(ctx, kv.Txn{Incarnation: l.Incarnation, Put: []kv.Write{records.Put(records.ProbeKey(), time.Now().UnixMilli())}})
	switch {
	case err != nil:
		return readOnly{err}
	case !o.Won:
		return fmt.Errorf("%w: another server has taken over meanwhile", kv.ErrUnavailable)
	}
	return nil
}

// readOnly is why a store that has answered takes no writes.
type readOnly struct{ error }

func (e readOnly) Error() string {
	return "it answers, but takes no writes, so no tick can run: " + strings.ReplaceAll(e.error.Error(), kv.ErrUnavailable.Error()+": ", "")
}

func (e readOnly) Unwrap() error { return e.error }

// NoteIncarnation makes the grace of an incarnation begin that nobody has noted yet.
func (c *Cluster) NoteIncarnation(ctx context.Context) error {
	return claims.NoteIncarnation(ctx, c.heard, c.Grace)
}

// DeclareNew is [claims.DeclareNew].
func (c *Cluster) DeclareNew(ctx context.Context) error { return claims.DeclareNew(ctx, c.heard) }

// DeclareAhead is [claims.DeclareAhead].
func (c *Cluster) DeclareAhead(ctx context.Context) (until time.Time, err error) {
	return claims.DeclareAhead(ctx, c.heard, c.Grace)
}

// DeclareRestored is [claims.DeclareRestored].
func (c *Cluster) DeclareRestored(ctx context.Context) error {
	return claims.DeclareRestored(ctx, c.heard, c.Grace)
}

// NodeKind implements view.Nodes.
func (c *Cluster) NodeKind() string { return view.KindStore }

// Nodes implements view.Nodes: the only row is the store.
func (c *Cluster) Nodes(ctx context.Context) []view.Node {
	name := c.Server.Name()
	row := view.Node{Node: name, Kind: view.KindStore, URL: name, Members: []string{name}, Warnings: []string{}}
	look, err := c.Look(ctx)
	if err != nil {
		row.State, row.Error = failed(err), view.Optional(err.Error())
		return []view.Node{row}
	}
	row.State = stateOf(look)
	row.Since = view.Stamp(look.Since)
	if row.State != view.NodeReady {
		row.VouchesAt = view.Stamp(look.VouchesAt)
		row.Why = view.Optional(why)
	}
	row.RTTMillis, row.OffsetMilli = millis(look.RTT), millis(look.Offset)
	return []view.Node{row}
}

// why is why a store abstains.
const why = "it is new, or another server has taken over, and may not remember every claim"

// maxOffset is how far the clocks may be apart before it is a finding.
const maxOffset = 500 * time.Millisecond

// Checks implements view.Nodes.
func (c *Cluster) Checks(ctx context.Context) []view.Check {
	row := view.Check{Node: view.Optional(c.Server.Name()), Kind: view.KindStore, Verdict: "ok", Findings: []view.Finding{}}
	add := func(topic string, mend bool, text string) {
		level := "note"
		if mend {
			level, row.Verdict = "mend", "mend"
		}
		row.Findings = append(row.Findings, view.Finding{Topic: topic, Level: level, Text: text})
	}
	look, err := c.Look(ctx)
	if err == nil {
		row.State = stateOf(look)
		row.RTTMillis, row.OffsetMilli = millis(look.RTT), millis(look.Offset)
		if until := look.VouchesAt; !until.IsZero() {
			row.Verdict = "wait"
			row.Findings = append(row.Findings, view.Finding{Topic: "state", Level: "wait", Text: "no tick starts before " + *view.Stamp(until.Truncate(time.Second)) + ": " + why})
		}
		var found kv.Checkup
		found, err = c.heard.Check(ctx)
		row.Version = view.Optional(found.Version)
		for _, f := range found.Findings {
			add(f.Topic, f.Mend, f.Text)
		}
		if off := look.Offset; off.Abs() > maxOffset {
			where := "ahead of"
			if off < 0 {
				where = "behind"
			}
			add("clock", true, fmt.Sprintf("its clock is %v %s this machine's: run NTP on both", off.Abs().Round(time.Millisecond), where))
		}
		row.Findings = append(row.Findings, c.Reader().Notes(ctx, c.Unreadable)...)
		if err := c.Probe(ctx, look); err != nil {
			row.State = view.NodeRefusing
			add("write", true, err.Error())
		}
	}
	if err == nil {
		var service string
		service, err = c.Service(ctx, "", false)
		row.Findings = append(row.Findings, view.ServiceFinding(service)...)
	}
	if err != nil {
		row.State = failed(err)
		add("reach", true, err.Error())
	}
	return []view.Check{row}
}

// failed is the state of a store whose look failed.
func failed(err error) string {
	if errors.Is(err, kv.ErrUnavailable) {
		return view.NodeDown
	}
	return view.NodeRefusing // it is not set up, for example
}

func stateOf(l Look) string {
	if l.VouchesAt.IsZero() {
		return view.NodeReady
	}
	return view.NodeAbstaining
}

func millis(d time.Duration) *float64 {
	ms := float64(d.Round(10*time.Microsecond)) / 1e6
	return &ms
}

// heard is a store with a bound on each call. It keeps the stamp of the last answer, and when
// it last took a write: while calls are answered, nobody has to look at the store besides.
type heard struct {
	kv.Server
	timeout time.Duration
	last    atomic.Pointer[answer]
	wrote   atomic.Pointer[time.Time] // nil: never, or a later write has failed
}

// An answer is the stamp of a call.
type answer struct {
	stamp        kv.Stamp
	began, ended time.Time
}

// offset is how far the store's clock is ahead of the local one; 0 if it has none.
func (a answer) offset() time.Duration {
	if a.stamp.Now.IsZero() {
		return 0
	}
	return a.stamp.Now.Sub(a.began.Add(a.ended.Sub(a.began) / 2))
}

// promptly is how long an answer may take to tell the clock: the offset is wrong by half of
// that at most.
const promptly = 250 * time.Millisecond

func (h *heard) note(began time.Time, s kv.Stamp, err error) {
	if ended := time.Now(); err == nil && ended.Sub(began) <= promptly {
		h.last.Store(&answer{s, began, ended})
	}
}

func (h *heard) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	list, s, err := h.Server.Read(ctx, keys...)
	h.note(began, s, err)
	return list, s, err
}

func (h *heard) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	lists, s, err := h.Server.List(ctx, ranges...)
	h.note(began, s, err)
	return lists, s, err
}

func (h *heard) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	o, err := h.Server.Commit(ctx, t)
	h.note(began, o.Stamp, err)
	switch {
	case err == nil && o.Won && len(t.Put) > 0: // a store that is full may still delete
		now := time.Now()
		h.wrote.Store(&now)
	case err != nil && !errors.Is(err, kv.ErrLocked) && !errors.Is(err, kv.ErrTooLarge):
		h.wrote.Store(nil)
	}
	return o, err
}

func (h *heard) Check(ctx context.Context) (kv.Checkup, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.Server.Check(ctx)
}

// Still brings a look up to date if the store has answered lately, in the same incarnation. It must also
// have taken a write within three times as long, and no later write may have failed.
func (c *Cluster) Still(l Look, lately time.Duration) (Look, bool) {
	last, wrote := c.heard.last.Load(), c.heard.wrote.Load()
	if last == nil || time.Since(last.ended) > lately || last.stamp.Incarnation != l.Incarnation || wrote == nil || time.Since(*wrote) > 3*lately {
		return l, false
	}
	l.Offset = last.offset()
	return l, true
}
