package single

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/health"
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

// OneStore implements [store.Health].
func (c *Cluster) OneStore() bool { return true }

// Inspect implements [store.Health]: the only node is the store. A look does not show whether it
// takes writes; a replica knows.
func (c *Cluster) Inspect(ctx context.Context) []health.Node {
	n := c.node(c.Look(ctx))
	if last := c.last.Load(); last != nil && last.err != nil && n.Vouches {
		n.Refuses, n.Err = true, last.err
	}
	return []health.Node{n}
}

// why is why a store abstains.
const why = "it is new, or another server has taken over, and may not remember every claim"

// node is the store as a look found it.
func (c *Cluster) node(l Look, err error) health.Node {
	name := c.Server.Name()
	n := health.Node{Name: name, URL: name, Members: []string{name}, Reachable: true}
	if err != nil {
		failed(&n, err)
		return n
	}
	n.Since, n.VouchesAt, n.Vouches, n.RTT, n.Offset = l.Since, l.VouchesAt, l.VouchesAt.IsZero(), l.RTT, l.Offset
	if !n.Vouches {
		n.Why = why
	}
	return n
}

// failed notes why the store cannot be used.
func failed(n *health.Node, err error) {
	n.Err, n.Reachable = err, !errors.Is(err, kv.ErrUnavailable)
	n.Refuses = n.Reachable // it is not set up, for example
}

// maxOffset is how far the clocks may be apart before it is a finding.
const maxOffset = 500 * time.Millisecond

// Check implements [store.Health].
func (c *Cluster) Check(ctx context.Context) health.Checkup {
	var checked health.Checkup
	look, err := c.Look(ctx)
	n := c.node(look, err)
	add := func(topic string, level health.Level, text string) {
		n.Findings = append(n.Findings, health.Finding{Topic: topic, Level: level, Text: text})
	}
	if err == nil {
		if !n.Vouches {
			add("state", health.Wait, "no tick starts before "+n.VouchesAt.UTC().Truncate(time.Second).Format(time.RFC3339)+": "+why)
		}
		var found kv.Checkup
		found, err = c.heard.Check(ctx)
		n.Version = found.Version
		for _, f := range found.Findings {
			level := health.Note
			if f.Mend {
				level = health.Fix
			}
			add(f.Topic, level, f.Text)
		}
		if off := look.Offset; off.Abs() > maxOffset {
			where := "ahead of"
			if off < 0 {
				where = "behind"
			}
			add("clock", health.Fix, fmt.Sprintf("its clock is %v %s this machine's: run NTP on both", off.Abs().Round(time.Millisecond), where))
		}
		if err := c.Probe(ctx, look); err != nil {
			n.Refuses, n.Err = true, err
			add("write", health.Fix, err.Error())
		}
	}
	if err == nil {
		checked.Service, err = c.Service(ctx, "", false)
	}
	if err != nil {
		failed(&n, err)
		add("reach", health.Fix, err.Error())
	}
	checked.Nodes = []health.Node{n}
	return checked
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

// begin bounds a call. End it with the answer.
func (h *heard) begin(ctx context.Context) (_ context.Context, end func(kv.Stamp, error)) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	began := time.Now()
	return ctx, func(s kv.Stamp, err error) {
		cancel()
		if ended := time.Now(); err == nil && ended.Sub(began) <= promptly {
			h.last.Store(&answer{s, began, ended})
		}
	}
}

func (h *heard) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	ctx, end := h.begin(ctx)
	list, s, err := h.Server.Read(ctx, keys...)
	end(s, err)
	return list, s, err
}

func (h *heard) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	ctx, end := h.begin(ctx)
	lists, s, err := h.Server.List(ctx, ranges...)
	end(s, err)
	return lists, s, err
}

func (h *heard) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	ctx, end := h.begin(ctx)
	o, err := h.Server.Commit(ctx, t)
	end(o.Stamp, err)
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
