package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A storeMachine is the machine of a consistent store. If it comes back with an older state,
// another server has taken over that did not have the latest transactions.
type storeMachine struct {
	memory    kvtest.Memory
	noted     kvtest.Backup
	clockless bool // its answers carry no clock
	without   checks
}

// checks are those of a store.
type checks struct {
	incarnation bool // a transaction loses in another incarnation, and all answers have the incarnation
	versions    bool // a transaction loses if a record has changed
}

// An exchange is a request to a store, and its answer.
type exchange struct {
	Keys    []kv.Key
	Ranges  []kv.Range
	Txn     kv.Txn
	Records []kv.Record
	Lists   [][]kv.Record
	Outcome kv.Outcome
	Stamp   kv.Stamp
}

// onlyIncarnation is that of a store that leaves out the check of incarnations.
const onlyIncarnation = "life"

// Call implements sim.Machine.
func (m *storeMachine) Call(now time.Time, method string, _, args []string) ([]string, error) {
	var x exchange
	err := json.Unmarshal([]byte(args[0]), &x)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	switch method {
	case "Read":
		x.Records, x.Stamp, err = m.memory.Read(ctx, x.Keys...)
	case "List":
		x.Lists, x.Stamp, err = m.memory.List(ctx, x.Ranges...)
	case "Commit":
		x.Outcome, err = m.commit(ctx, x.Txn)
		x.Stamp = x.Outcome.Stamp
	}
	x.Stamp.Now = now
	if m.clockless {
		x.Stamp.Now = time.Time{}
	}
	if m.without.incarnation {
		x.Stamp.Incarnation = onlyIncarnation
	}
	x.Outcome.Stamp = x.Stamp
	text, wrong := json.Marshal(x)
	return []string{string(text)}, errors.Join(err, wrong)
}

func (m *storeMachine) commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if m.without.versions {
		t.If = nil
	}
	if _, now, err := m.memory.Read(ctx); err == nil && m.without.incarnation && t.Incarnation == onlyIncarnation {
		t.Incarnation = now.Incarnation
	}
	return m.memory.Commit(ctx, t)
}

// Info implements sim.Machine.
func (m *storeMachine) Info() (string, error) { return "", nil }

// Note implements sim.Machine.
func (m *storeMachine) Note() { m.noted = m.memory.Backup() }

// Restart implements sim.Machine. Nothing that a store keeps expires.
func (m *storeMachine) Restart(_ string, memory sim.Memory) {
	switch memory {
	case sim.Older:
		m.memory.Restore(m.noted)
	case sim.Nothing:
		m.memory.Restore(kvtest.Backup{})
	}
}

// A remoteStore is the store as a process sees it. The only node is its machine.
type remoteStore struct{ process *sim.Process }

func (s remoteStore) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	x, err := s.call(ctx, "Read", exchange{Keys: keys})
	return x.Records, x.Stamp, err
}

func (s remoteStore) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	x, err := s.call(ctx, "List", exchange{Ranges: ranges})
	return x.Lists, x.Stamp, err
}

// Commit sorts the transaction: the fate of a message depends on its text.
func (s remoteStore) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	slices.SortFunc(t.If, func(a, b kv.Compare) int { return compare(a.Key, b.Key) })
	slices.SortFunc(t.Put, func(a, b kv.Write) int { return compare(a.Key, b.Key) })
	slices.SortFunc(t.Delete, compare)
	x, err := s.call(ctx, "Commit", exchange{Txn: t})
	return x.Outcome, err
}

func compare(a, b kv.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Sub, b.Sub))
}

func (s remoteStore) call(ctx context.Context, method string, x exchange) (exchange, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return x, err
	}
	fields, err := s.process.Call(ctx, sim.Request{Script: method, Args: []string{string(text)}})
	if err != nil {
		return exchange{}, fmt.Errorf("%s: %w", method, errors.Join(kv.ErrUnavailable, err, ctx.Err()))
	}
	var answer exchange
	err = json.Unmarshal([]byte(fields[0]), &answer)
	return answer, err
}

func (remoteStore) Limits() kv.Limits { return new(kvtest.Memory).Limits() }

func (remoteStore) Name() string { return name(0) }

func (remoteStore) Check(context.Context) (kv.Checkup, error) { return kv.Checkup{}, nil }

func (remoteStore) Close() {}

var _ kv.Server = remoteStore{}
