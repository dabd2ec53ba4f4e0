package single

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// A Look is what one request shows of the store.
type Look struct {
	Life   string // as in a kv.Stamp
	RTT    time.Duration
	Offset time.Duration // how far its clock is ahead of the local one
	// Since is the store's clock when its life was first seen; zero if it was declared new.
	Since time.Time
	// Unnoted is whether nobody has noted its life yet; see [Cluster.NoteLife].
	Unnoted bool
	// VouchesAt is when it may grant ticks, by the local clock; zero: now.
	VouchesAt time.Time
}

// Look asks the store how it is, and changes nothing.
func (c *Cluster) Look(ctx context.Context) (Look, error) {
	began := time.Now()
	list, stamp, err := c.heard.Read(ctx, records.LifeKey())
	if err != nil {
		return Look{}, err
	}
	life, err := records.UsableLife(list[0])
	if err != nil {
		return Look{}, err
	}
	rtt := time.Since(began)
	look := Look{Life: stamp.Life, RTT: rtt, Offset: answer{stamp, began, began.Add(rtt)}.offset()}
	if life, look.Unnoted = life.Now(stamp, c.Grace); life.Since == 0 {
		return look, nil
	}
	look.Since = time.UnixMilli(life.Since).UTC()
	if left := look.Since.Add(c.Grace).Sub(stamp.At()); left >= 0 {
		look.VouchesAt = time.Now().Add(left)
	}
	return look, nil
}

// Probe writes a record that nobody reads. A store that answers may still take no writes: it is
// full, for example, or its user may only read.
func (c *Cluster) Probe(ctx context.Context, l Look) error {
	o, err := c.heard.Commit(ctx, kv.Txn{Life: l.Life, Put: []kv.Write{records.Put(records.ProbeKey(), time.Now().UnixMilli())}})
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

// NoteLife makes the grace of a life begin that nobody has noted yet.
func (c *Cluster) NoteLife(ctx context.Context) error {
	return claims.NoteLife(ctx, c.heard, c.Grace)
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

// Checks implements view.Nodes.
func (c *Cluster) Checks(ctx context.Context) []view.Check {
	row := checked{Node: view.Optional(c.Server.Name()), Kind: view.KindStore, Verdict: "ok", Findings: []view.Finding{}}
	look, err := c.Look(ctx)
	if err == nil {
		row.State = stateOf(look)
		row.RTTMillis, row.OffsetMilli = millis(look.RTT), millis(look.Offset)
		row.wait(look.VouchesAt)
		var found kv.Checkup
		found, err = c.heard.Check(ctx)
		row.Version = view.Optional(found.Version)
		for _, f := range append(found.Findings, clock(look)...) {
			row.add(f)
		}
		row.Findings = append(row.Findings, c.Reader().Notes(ctx, c.Unreadable)...)
		if err := c.Probe(ctx, look); err != nil {
			row.State = view.NodeRefusing
			row.add(kv.Finding{Topic: "write", Mend: true, Text: err.Error()})
		}
	}
	if err == nil {
		var service string
		service, err = c.Service(ctx, "", false)
		row.Findings = append(row.Findings, view.ServiceFinding(service)...)
	}
	if err != nil {
		row.State = failed(err)
		row.add(kv.Finding{Topic: "reach", Mend: true, Text: err.Error()})
	}
	return []view.Check{view.Check(row)}
}

// checked is a row of Checks while it is made.
type checked view.Check

func (c *checked) add(f kv.Finding) {
	level := "note"
	if f.Mend {
		level, c.Verdict = "mend", "mend"
	}
	c.Findings = append(c.Findings, view.Finding{Topic: f.Topic, Level: level, Text: f.Text})
}

// wait adds that the store abstains until then.
func (c *checked) wait(until time.Time) {
	if !until.IsZero() {
		c.Verdict = "wait"
		c.Findings = append(c.Findings, view.Finding{Topic: "state", Level: "wait", Text: "no tick starts before " + *view.Stamp(until.Truncate(time.Second)) + ": " + why})
	}
}

// maxOffset is how far the clocks may be apart before it is a finding.
const maxOffset = 500 * time.Millisecond

func clock(l Look) []kv.Finding {
	if l.Offset.Abs() <= maxOffset {
		return nil
	}
	where := "ahead of"
	if l.Offset < 0 {
		where = "behind"
	}
	return []kv.Finding{{
		Topic: "clock", Mend: true,
		Text: fmt.Sprintf("its clock is %v %s this machine's: run NTP on both", l.Offset.Abs().Round(time.Millisecond), where),
	}}
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
