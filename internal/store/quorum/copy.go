package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store"
	quorumcommands "github.com/quorate/quorate/internal/store/quorum/commands"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A side is one side of a copy.
type side struct {
	*Cluster
	namespace string
}

// Side returns the cluster, which is kept in the namespace, as one side of a copy.
func (c *Cluster) Side(namespace string) store.Side {
	return side{&Cluster{Set: c.Set, locker: c.locker, Ledger: quorumledger.NewForCopy(c.Set), Commands: quorumcommands.NewForCopy(c.Set)}, namespace}
}

// Name implements [store.Side].
func (s side) Name() string {
	return "namespace " + s.namespace + " on " + strings.Join(s.Set.Names(), ", ")
}

// Memory implements [store.Side].
func (s side) Memory(ctx context.Context) (m store.Memory, err error) {
	marks, err := transfer.ReadMarks(ctx, s.Set)
	if err != nil {
		return m, err
	}
	m = store.Memory{Fence: marks.Fence, Tick: marks.Tick}
	if marks.Since > 0 {
		m.Floor = marks.Since + s.Set.Grace().Milliseconds()
	}
	m.Claims, err = s.locker.Latest(ctx)
	for _, h := range m.Claims {
		m.Fence = max(m.Fence, uint64(h.Token))
	}
	return m, err
}

// Begin implements [store.Side].
func (s side) Begin(ctx context.Context) (time.Time, error) {
	now, err := transfer.Begin(ctx, s.Set)
	if errors.Is(err, transfer.ErrServed) {
		err = fmt.Errorf("%w: %w", store.ErrNotEmpty, err)
	}
	return now, err
}

// PutEntries implements [store.Side].
func (s side) PutEntries(ctx context.Context, job string, all ledger.Skimmed) error {
	return transfer.Put(ctx, s.Set, quorumledger.Copied(s.Set, job, all))
}

// PutCommands implements [store.Side].
func (s side) PutCommands(ctx context.Context, list []commands.Command) error {
	return s.Commands.Copy(ctx, list)
}

// End implements [store.Side].
func (s side) End(ctx context.Context, m store.Memory) error {
	var values []transfer.Value
	streams := ""
	for i, h := range m.Claims {
		values, streams = append(values, transfer.Claim(s.Set, h)), streams+","+h.Stream
		if i+1 == len(m.Claims) || m.Claims[i+1].Name != h.Name {
			values, streams = append(values, transfer.Fence(s.Set, h.Name, m.Fence, streams[1:])), ""
		}
	}
	if err := transfer.Put(ctx, s.Set, values); err != nil {
		return err
	}
	return transfer.End(ctx, s.Set, transfer.Marks{Since: m.Since(s.Set.Grace()), Fence: m.Fence, Tick: m.Tick})
}
