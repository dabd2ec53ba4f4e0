package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// defaultKeep is how many records of one name a Memory keeps by default.
const defaultKeep = 1000

// Memory is a [locking.Watcher] for tests: one node that never fails, shared by all
// replicas of the process. It uses time.Now, so it follows the virtual time of a
// synctest bubble. The zero value is ready to use.
type Memory struct {
	// Keep bounds the claims that Records returns of one name. Default 1000.
	Keep int

	mu    sync.Mutex
	tries int
	names map[string]*memoryName
}

// A memoryName is the state of one name.
type memoryName struct {
	state   protocol.State
	records []*Record // oldest first
}

// never is a grace that no tick and no token exceeds.
const never = 100 * 365 * 24 * time.Hour

// node is a node that has forgotten nothing and accepts any tick.
func node(now time.Time) protocol.Node {
	return protocol.Node{Now: now.UnixMilli(), Grace: never.Milliseconds()}
}

// try is the try of a request. Its lock ends with the lease: rules treat a lock as held
// in its last millisecond.
func try(req locking.Request, owner string, now time.Time) protocol.Try {
	t := protocol.Try{Owner: owner, Stream: req.InStream(), Plain: req.Tick.IsZero(), Overlaps: req.Beside}
	if t.Plain {
		t.Stream = "lock"
	} else {
		t.Tick = req.Tick.UnixMilli()
	}
	if req.Mode == locking.AtLeastOnce {
		t.Mode = protocol.AtLeastOnce
	}
	t.TTL = now.Add(req.TTL-1).UnixMilli() - now.UnixMilli()
	return t
}

// TryAcquire implements [locking.Locker].
func (m *Memory) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if err := req.Check(); err != nil {
		return nil, fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(&locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1}}, err)
	}
	req.TTL = cmp.Or(req.TTL, locking.DefaultTTL)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	now, of := time.Now(), m.name(req.Name)
	l := &memoryLease{m: m, of: of, req: req, owner: strconv.Itoa(m.tries), until: now.Add(req.TTL)}
	s, seen := protocol.Lock(of.state, node(now), try(req, l.owner, now))
	if err := refusal(req, now, seen); err != nil {
		return nil, err
	}
	bid := protocol.Bid{Token: max(seen.Fence+1, uint64(now.Unix())<<20), Attempt: seen.Attempt + 1, Note: req.Holder}
	s, got := protocol.Commit(s, node(now), try(req, l.owner, now), bid)
	if err := refusal(req, now, got); err != nil {
		return nil, err
	}
	of.state = s
	l.claim = locking.Claim{
		Name: req.Name, Tick: req.Tick, Stream: req.Stream, Beside: req.Beside, Attempt: bid.Attempt, Granted: now,
		Token: locking.Token(bid.Token), Votes: locking.Votes{For: 1, Of: 1},
	}
	if !req.Tick.IsZero() {
		l.record = &Record{Claim: l.claim, StartNote: slices.Clone(req.Note), owner: l.owner}
		of.records = append(of.records, l.record)
		of.records = of.records[max(0, len(of.records)-cmp.Or(m.Keep, defaultKeep)):]
	}
	return l, nil
}

func (m *Memory) name(name string) *memoryName {
	if m.names == nil {
		m.names = map[string]*memoryName{}
	}
	if m.names[name] == nil {
		m.names[name] = &memoryName{}
	}
	return m.names[name]
}

// reasons maps the refusals of a node that has forgotten nothing.
var reasons = map[protocol.Code]error{
	protocol.Later: locking.ErrSuperseded, protocol.Done: locking.ErrDone, protocol.Claimed: locking.ErrClaimed, protocol.Busy: locking.ErrTaken,
}

// refusal returns why the request cannot be granted now, nil if it can.
func refusal(req locking.Request, now time.Time, a protocol.Answer) error {
	if a.Code == protocol.OK {
		return nil
	}
	e := &locking.AcquireError{
		Reason: cmp.Or(reasons[a.Code], locking.ErrNoQuorum), Name: req.Name, Holder: a.Claim.Note,
		HolderToken: locking.Token(a.Claim.Token), Votes: locking.Votes{Of: 1},
	}
	if a.Claim.Tick != 0 {
		e.HolderTick = time.UnixMilli(a.Claim.Tick).UTC()
	}
	if a.Left > 0 {
		e.Until = now.Truncate(time.Millisecond).Add(time.Duration(a.Left+1) * time.Millisecond)
	}
	return e
}

var _ locking.Watcher = (*Memory)(nil)

// Watch implements [locking.Watcher]. With one node, one Look is enough.
func (m *Memory) Watch(req locking.Request, _ uint64) locking.Watch {
	return memoryWatch{m: m, req: req}
}

type memoryWatch struct {
	m   *Memory
	req locking.Request
}

// Look returns what TryAcquire would, but nil for a superseded tick, as the contract of
// locking.Watch says.
func (w memoryWatch) Look(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	now := time.Now()
	err := refusal(w.req, now, protocol.Look(w.m.name(w.req.Name).state, node(now), try(w.req, "", now)))
	if errors.Is(err, locking.ErrSuperseded) {
		return nil
	}
	return err
}

// memoryLease is a lease of a Memory, guarded by the Memory's mutex.
type memoryLease struct {
	m      *Memory
	of     *memoryName
	req    locking.Request
	owner  string
	claim  locking.Claim
	record *Record // nil without a tick

	until time.Time
	ended bool  // released or voided
	gone  error // what Release returns after it has ended
}

func (l *memoryLease) Claim() locking.Claim { return l.claim }

func (l *memoryLease) Deadline() time.Time {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.until
}

// Extend never revives a lease that has expired.
func (l *memoryLease) Extend(ctx context.Context) error {
	return l.do(ctx, func(now time.Time) error {
		s, a := protocol.Extend(l.of.state, node(now), try(l.req, l.owner, now))
		if l.ended || locking.Expired(now, l.until) || a.Code != protocol.OK {
			return locking.ErrLeaseLost
		}
		l.of.state, l.until = s, now.Add(l.req.TTL)
		return nil
	})
}

func (l *memoryLease) do(ctx context.Context, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return f(time.Now())
}

func (l *memoryLease) Release(ctx context.Context, note []byte) error {
	return l.end(ctx, note, false)
}

// HandOver leaves the tick as if its holder had died.
func (l *memoryLease) HandOver(ctx context.Context, note []byte) error {
	return l.end(ctx, note, true)
}

func (l *memoryLease) end(ctx context.Context, note []byte, handover bool) error {
	return l.do(ctx, func(now time.Time) error {
		if l.ended {
			return l.gone
		}
		s, a := protocol.Finish(l.of.state, node(now), try(l.req, l.owner, now), protocol.End{Handover: handover})
		switch a.Code {
		case protocol.Late:
			l.gone = locking.ErrLeaseLost
		case protocol.RanOut:
			l.gone = locking.ErrExpired
		}
		if l.record != nil {
			l.record.Finished, l.record.Late, l.record.FinishNote = true, a.Code == protocol.Late, slices.Clone(note)
		}
		l.of.state, l.ended = s, true
		return l.gone
	})
}

func (l *memoryLease) Void(ctx context.Context) error {
	return l.do(ctx, func(now time.Time) error {
		if l.ended {
			return nil
		}
		l.of.state, _ = protocol.Void(l.of.state, node(now), try(l.req, l.owner, now), false)
		l.ended, l.gone = true, locking.ErrLeaseLost
		l.of.records = slices.DeleteFunc(l.of.records, func(have *Record) bool { return have == l.record })
		return nil
	})
}

// A Record is what a Memory keeps of one claim of a tick.
type Record struct {
	Claim     locking.Claim
	StartNote []byte // the request's
	// Finished reports whether the lease was released, with FinishNote.
	Finished   bool
	FinishNote []byte
	// Late: others may have worked before the lease was released.
	Late bool
	// Held reports whether the lease was still held when Records was called.
	Held bool

	owner string
}

// Records returns the claims of a name's ticks, oldest first, without voided ones. It
// returns the last Keep.
func (m *Memory) Records(name string) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, now := m.name(name), time.Now().UnixMilli()
	all := make([]Record, len(of.records))
	for i, r := range of.records {
		stream := locking.Request{Stream: r.Claim.Stream}.InStream()
		locks := []protocol.Lease{of.state.Lock, of.state.TickLocks[protocol.TickKey{Stream: stream, Tick: r.Claim.Tick.UnixMilli()}]}
		all[i] = *r
		all[i].Held = slices.ContainsFunc(locks, func(l protocol.Lease) bool { return l.Owner == r.owner && now <= l.Until })
	}
	return all
}
