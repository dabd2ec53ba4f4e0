package kvtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Memory is a [kv.Store] in memory, shared by the replicas of a test. It uses time.Now, so
// it follows the virtual time of a synctest bubble. The zero value is ready to use.
type Memory struct {
	// Fault, if set, is asked before each call and again before its answer is returned. An
	// error loses the request, or the answer to what was done. It may block. A [Refusal] is
	// returned as it is, and should come before the call.
	Fault func(ctx context.Context, c Call) error
	// Bounds are returned by Limits. Default: 10,000 keys and 16 MiB.
	Bounds kv.Limits
	// Clockless makes it a store whose answers carry no clock.
	Clockless bool

	mu          sync.Mutex
	data        data
	incarnation int
}

// A Refusal is the answer of a store that refuses a call, which changes nothing.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// A Call is one call of a Memory, before it is made or before its answer is returned.
type Call struct {
	Method   string // "Read", "List" or "Commit"
	Txn      kv.Txn
	Answered bool
}

// data is what a Memory has stored.
type data struct {
	records map[kv.Key]kv.Record
	version uint64
}

// A Backup is a copy of what a Memory has stored.
type Backup struct{ data data }

// Backup copies what is stored.
func (m *Memory) Backup() Backup {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Backup{data{maps.Clone(m.data.records), m.data.version}}
}

// Restore forgets all that was committed since the backup, in another incarnation. Versions begin
// again, too.
func (m *Memory) Restore(b Backup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = data{maps.Clone(b.data.records), b.data.version}
	m.incarnation++
}

// Read implements [kv.Store].
func (m *Memory) Read(ctx context.Context, keys ...kv.Key) (list []kv.Record, s kv.Stamp, err error) {
	err = m.call(ctx, Call{Method: "Read"}, func() {
		s = m.stamp()
		for _, k := range keys {
			r := m.data.records[k]
			r.Key = k
			list = append(list, r)
		}
	})
	return list, s, err
}

// List implements [kv.Store].
func (m *Memory) List(ctx context.Context, ranges ...kv.Range) (lists [][]kv.Record, s kv.Stamp, err error) {
	err = m.call(ctx, Call{Method: "List"}, func() {
		s = m.stamp()
		for _, r := range ranges {
			lists = append(lists, m.data.list(r))
		}
	})
	return lists, s, err
}

func (d data) list(r kv.Range) []kv.Record {
	list := []kv.Record{}
	for k, record := range d.records {
		if r.Holds(k) {
			list = append(list, record)
		}
	}
	slices.SortFunc(list, func(a, b kv.Record) int {
		return kv.Point{Name: a.Key.Name, Sub: a.Key.Sub}.Compare(kv.Point{Name: b.Key.Name, Sub: b.Key.Sub})
	})
	if r.Limit > 0 {
		list = list[:min(len(list), r.Limit)]
	}
	return list
}

// Commit implements [kv.Store].
func (m *Memory) Commit(ctx context.Context, t kv.Txn) (o kv.Outcome, err error) {
	if err := t.Check(m.Limits()); err != nil {
		return kv.Outcome{}, err
	}
	err = m.call(ctx, Call{Method: "Commit", Txn: t}, func() {
		o.Stamp = m.stamp()
		if o.Won = t.Incarnation == o.Stamp.Incarnation && m.data.holds(t.If); o.Won {
			o.Version = m.data.apply(t)
		}
	})
	if err != nil {
		return kv.Outcome{}, err // it is unknown what became of it
	}
	return o, nil
}

func (d *data) holds(conditions []kv.Compare) bool {
	return !slices.ContainsFunc(conditions, func(c kv.Compare) bool { return d.records[c.Key].Version != c.Version })
}

// apply makes the changes and returns their version.
func (d *data) apply(t kv.Txn) uint64 {
	d.version++
	if d.records == nil {
		d.records = map[kv.Key]kv.Record{}
	}
	for _, w := range t.Put {
		d.records[w.Key] = kv.Record{Key: w.Key, Version: d.version, Value: slices.Clone(w.Value)}
	}
	for _, k := range t.Delete {
		delete(d.records, k)
	}
	if len(t.Put) == 0 {
		return 0
	}
	return d.version
}

// Limits implements [kv.Store].
func (m *Memory) Limits() kv.Limits {
	if m.Bounds != (kv.Limits{}) {
		return m.Bounds
	}
	return kv.Limits{Keys: 10_000, Bytes: 16 << 20}
}

// Name implements [kv.Server].
func (m *Memory) Name() string { return "memory" }

// Check implements [kv.Server]: it reads, and finds nothing.
func (m *Memory) Check(ctx context.Context) (kv.Checkup, error) {
	_, _, err := m.Read(ctx)
	return kv.Checkup{Version: "memory"}, err
}

// Close implements [kv.Server]. It does nothing, so that another replica may open it.
func (m *Memory) Close() {}

func (m *Memory) stamp() kv.Stamp {
	s := kv.Stamp{Incarnation: "incarnation " + strconv.Itoa(m.incarnation)}
	if !m.Clockless {
		s.Now = time.Now()
	}
	return s
}

// call does the work of one call at a single moment, between the two faults.
func (m *Memory) call(ctx context.Context, c Call, do func()) error {
	if err := m.fault(ctx, c); err != nil {
		return err
	}
	m.mu.Lock()
	do()
	m.mu.Unlock()
	c.Answered = true
	return m.fault(ctx, c)
}

func (m *Memory) fault(ctx context.Context, c Call) error {
	var err error
	if m.Fault != nil {
		err = m.Fault(ctx, c)
	}
	if errors.As(err, new(Refusal)) {
		return fmt.Errorf("%s: %w", c.Method, err)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s: %w: %w", c.Method, kv.ErrUnavailable, err)
	}
	return nil
}

var _ kv.Server = (*Memory)(nil)
