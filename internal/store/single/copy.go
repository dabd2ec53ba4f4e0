package single

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	asked "github.com/quorate/quorate/scheduler/commands"
	recorded "github.com/quorate/quorate/scheduler/ledger"
)

// A side is one side of a copy. Every write compares the incarnation record, which has the mark of an
// unfinished copy.
type side struct {
	*Cluster
	namespace   string
	incarnation string // of the store
	version     uint64 // of the incarnation record
}

// Side returns the cluster, which is kept in the namespace, as one side of a copy.
func (c *Cluster) Side(namespace string) store.Side {
	return &side{Cluster: c, namespace: namespace}
}

// Name implements [store.Side].
func (s *side) Name() string { return "namespace " + s.namespace + " on " + s.Server.Name() }

// Memory implements [store.Side].
func (s *side) Memory(ctx context.Context) (m store.Memory, err error) {
	list, stamp, err := s.Server.Read(ctx, records.IncarnationKey(), records.ForgottenKey())
	if err != nil {
		return m, err
	}
	incarnation, err := records.UsableIncarnation(list[0])
	forgotten, err2 := records.Decode[records.Forgotten](list[1])
	queued, err3 := s.Commands.Queued(ctx)
	if err := errors.Join(err, err2, err3); err != nil {
		return m, err
	}
	incarnation, _ = incarnation.Now(stamp, s.Grace)
	m = store.Memory{Tick: forgotten.Tick, Floor: incarnation.Floor(s.Grace), Queued: queued}
	m.Claims, m.Fence, err = s.Claims.Latest(ctx)
	m.Fence = max(m.Fence, forgotten.Fence)
	return m, err
}

// Begin implements [store.Side].
func (s *side) Begin(ctx context.Context) (time.Time, error) {
	var some []kv.Range
	for _, kind := range kv.Kinds() {
		some = append(some, kv.Range{Kind: kind, Limit: 4}) // the incarnation, the service, and what a check has written
	}
	lists, stamp, err := s.Server.List(ctx, some...)
	if err != nil {
		return stamp.At(), err
	}
	for _, r := range slices.Concat(lists...) {
		switch r.Key {
		case records.IncarnationKey():
			s.version = r.Version
		case records.ProbeKey():
		case records.ServiceKey(): // the copy is that service's, if it has one
		default:
			return stamp.At(), fmt.Errorf("%w: it has %s", store.ErrNotEmpty, r.Key)
		}
	}
	s.incarnation = stamp.Incarnation
	return stamp.At(), s.setIncarnation(ctx, records.Incarnation{ID: s.incarnation, Copying: true})
}

// setIncarnation replaces the incarnation record.
func (s *side) setIncarnation(ctx context.Context, incarnation records.Incarnation, more ...kv.Write) (err error) {
	s.version, err = s.commit(ctx, append(more, records.PutIncarnation(incarnation)))
	return err
}

// commit commits the writes if the incarnation record and the incarnation of the store have not changed.
func (s *side) commit(ctx context.Context, writes []kv.Write) (version uint64, err error) {
	o, err := s.Server.Commit(ctx, kv.Txn{Incarnation: s.incarnation, If: []kv.Compare{{Key: records.IncarnationKey(), Version: s.version}}, Put: writes})
	if err == nil && !o.Won {
		err = fmt.Errorf("%s: another server has taken over, or somebody else uses it", s.Name())
	}
	return o.Version, err
}

// put writes the records, in as many transactions as it takes. Of two with the same key the
// last counts.
func (s *side) put(ctx context.Context, writes []kv.Write) error {
	last, most := map[kv.Key]kv.Write{}, s.Server.Limits()
	for _, w := range writes {
		last[w.Key] = w
	}
	for some := range slices.Chunk(slices.Collect(maps.Values(last)), max(1, min(most.Keys/2, most.Bytes/maxRecord))) {
		if _, err := s.commit(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// maxRecord is more than a record of this package has in bytes.
const maxRecord = 4 * asked.MaxParams

// PutEntries implements [store.Side].
func (s *side) PutEntries(ctx context.Context, job string, all recorded.Skimmed) error {
	return s.put(ctx, ledger.Copied(job, all))
}

// PutCommands implements [store.Side].
func (s *side) PutCommands(ctx context.Context, list []asked.Command) error {
	writes, err := commands.Copied(list)
	if err != nil {
		return err
	}
	return s.put(ctx, writes)
}

// End implements [store.Side]. It stores the claims without leases before the store is ready.
func (s *side) End(ctx context.Context, m store.Memory) error {
	all := map[string]records.Claims{}
	for _, h := range m.Claims {
		if all[h.Name].Streams == nil {
			all[h.Name] = records.Claims{Fence: m.Fence, Streams: map[string]records.Claim{}}
		}
		all[h.Name].Streams[h.Stream] = asClaim(h)
	}
	var writes []kv.Write
	for name, c := range all {
		writes = append(writes, records.Put(records.ClaimsKey(name), c))
	}
	if err := s.put(ctx, writes); err != nil {
		return err
	}
	return s.setIncarnation(ctx, records.Incarnation{ID: s.incarnation, Since: m.Since(s.Grace)},
		records.Put(records.ForgottenKey(), records.Forgotten{Fence: m.Fence, Tick: m.Tick}))
}

// asClaim returns a claim without a lease.
func asClaim(h locking.Holding) records.Claim {
	c := records.Claim{
		Stream: h.Stream, Token: uint64(h.Token), Owner: fmt.Sprintf("copied-%d", h.Token), Note: h.Holder, Attempt: h.Attempt,
		Mode: protocol.Mode(h.Mode == locking.AtLeastOnce), Overlaps: h.Beside, Void: h.Void,
	}
	if !h.Tick.IsZero() {
		c.Tick = h.Tick.UnixMilli()
	}
	switch {
	case h.Void:
	case h.Done:
		c.Ended = protocol.OK
	default:
		c.Ended, c.Handed = protocol.RanOut, true
	}
	return c
}
