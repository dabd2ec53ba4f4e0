package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	onestore "github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
)

// lookEvery is how long a replica hears nothing from the store until it looks.
const lookEvery = 5 * time.Second

// single is one store of a replica, such as PostgreSQL.
type single struct {
	*onestore.Cluster
	log *slog.Logger

	last atomic.Pointer[seen]
}

// seen is what the last look at the store has shown.
type seen struct {
	onestore.Look
	err error
}

// openStore opens the store of a replica.
func openStore(part Store, cluster config.Cluster, log *slog.Logger) (*single, error) {
	server, err := part.Open(context.Background(), cluster)
	if err != nil {
		return nil, err
	}
	opened, err := onestore.Configured(server, cluster)
	if err != nil {
		return nil, err
	}
	opened.Unreadable.To(log)
	s := &single{Cluster: opened, log: log}
	s.last.Store(&seen{err: errors.New("connecting to the store")})
	return s, nil
}

// look looks at the store once, writes to it, and says if that changes what is known.
func (s *single) look(ctx context.Context) error {
	now := &seen{}
	if now.Look, now.err = s.Look(ctx); now.Unnoted {
		now.err = s.NoteLife(ctx)
	}
	if now.err == nil {
		now.err = s.Probe(ctx, now.Look)
	}
	before := s.last.Swap(now)
	switch {
	case now.err != nil:
		if before.err == nil {
			s.log.Warn("the store cannot be used", "why", config.OneLine(now.err.Error()))
		}
	case before.err == nil && before.VouchesAt.IsZero() == now.VouchesAt.IsZero():
	case now.VouchesAt.IsZero():
		s.log.Info("ready")
	default:
		s.log.Warn("the store is new, or another server has taken over: no tick runs before " + jobs.FormatTick(now.VouchesAt.Round(0)) +
			", since it may not remember every claim; for a new store, run `quorate store init` before the first replica starts")
	}
	return now.err
}

// join implements backend.
func (s *single) join(ctx context.Context) error {
	final := func(err error) bool { return errors.Is(err, kv.ErrNotReady) || errors.Is(err, kv.ErrLogin) }
	return joining(ctx, s.log, "no job runs until the store answers; trying again until then", final, s.look)
}

// watch implements backend.
func (s *single) watch(ctx context.Context) {
	for retry.After(ctx, lookEvery/5) {
		last := s.last.Load()
		if last.err == nil && last.VouchesAt.IsZero() {
			if now, ok := s.Still(last.Look, lookEvery); ok { // acts are read all the time, and heartbeats written
				s.last.Store(&seen{Look: now})
				continue
			}
		}
		_ = s.look(ctx) // notReady tells it
	}
}

// notReady implements backend.
func (s *single) notReady() string {
	switch last := s.last.Load(); {
	case last.err != nil:
		return "waiting for the store: " + config.OneLine(last.err.Error())
	case !last.VouchesAt.IsZero() && time.Now().Before(last.VouchesAt):
		return "waiting for the grace of the store: no tick runs before " + jobs.FormatTick(last.VouchesAt.Round(0))
	}
	return ""
}

// Nodes implements backend. A look does not show whether the store takes writes.
func (s *single) Nodes(ctx context.Context) []view.Node {
	rows := s.Cluster.Nodes(ctx)
	if last := s.last.Load(); last.err != nil && rows[0].State == view.NodeReady {
		rows[0].State, rows[0].Error = view.NodeRefusing, view.Optional(last.err.Error())
	}
	return rows
}

// ClockOffset implements backend.
func (s *single) ClockOffset() (time.Duration, bool) {
	last := s.last.Load()
	return -last.Offset, last.err == nil
}

func (s *single) members() *membership.Set { return nil }

func (s *single) close() error { return s.Close() }
