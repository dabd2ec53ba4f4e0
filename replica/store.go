package replica

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

// A backend is the store that a replica stands on, and how it comes to it.
type backend interface {
	// Stores are those of the scheduler.
	Stores() scheduler.Stores
	Control() view.Control
	view.Nodes
	view.Owned
	ClockOffset() (time.Duration, bool)

	// join waits until the store answers, refuses, or ctx ends, which is no error.
	join(ctx context.Context) error
	// watch looks after the store until ctx ends.
	watch(ctx context.Context)
	// notReady says why no tick can run; "" if one can.
	notReady() string
	close() error
	// members are the Redis nodes; nil for another store.
	members() *membership.Set
}

// Pauses between tries to join the nodes or the store.
const (
	firstJoinPause = 250 * time.Millisecond
	maxJoinPause   = 5 * time.Second
)

// joining repeats try until it succeeds, its error is final, or ctx ends, which is no error. If the
// first try fails, it logs the warning.
func joining(ctx context.Context, log *slog.Logger, warning string, final func(error) bool, try func(context.Context) error) error {
	var wait time.Duration
	for pause := firstJoinPause; retry.After(ctx, wait); pause = min(2*pause, maxJoinPause) {
		err := try(ctx)
		if err == nil || final(err) {
			return err
		}
		if pause == firstJoinPause && ctx.Err() == nil {
			log.Warn(warning, "why", config.OneLine(err.Error()))
		}
		wait = pause/2 + rand.N(pause)
	}
	return nil
}

// nodes are those of a replica, which joins them before it claims ticks.
type nodes struct {
	*quorum.Cluster
	locker *redlock.Locker
	log    *slog.Logger

	formatted atomic.Bool           // a node was formatted while joining
	joining   atomic.Pointer[error] // why joining has not succeeded yet
}

// errNotJoined is the reason before Run.
var errNotJoined = errors.New("joining the nodes")

// noticeFormatting remembers whether nodes were blank when this replica came.
func (n *nodes) noticeFormatting(o membership.Observer) membership.Observer {
	tell := o.Formatted
	o.Formatted = func(node string, until time.Time) {
		n.formatted.Store(true)
		tell(node, until)
	}
	return o
}

// join tries until a quorum of nodes is there, the nodes refuse, or ctx ends,
// which is no error.
func (n *nodes) join(ctx context.Context) error {
	began, retried := time.Now(), false
	final := func(err error) bool { return errors.Is(err, locking.ErrRefused) }
	return joining(ctx, n.log, n.words().retrying, final, func(ctx context.Context) error {
		err := n.Set.Join(ctx)
		if err == nil {
			n.joined(time.Since(began), retried)
			return nil
		}
		n.joining.Store(&err)
		retried = true
		return err
	})
}

// joined says from when on jobs run.
func (n *nodes) joined(took time.Duration, retried bool) {
	n.joining.Store(nil)
	if retried {
		n.log.Info(n.words().answer, "after", took.Round(time.Millisecond))
	}
	switch at, ok := n.Set.Vouching(); {
	case !ok || at.IsZero():
		n.log.Info("ready")
	case n.formatted.Load():
		n.log.Warn(n.words().blank + ": no tick runs before " + jobs.FormatTick(at.Round(0)) +
			", since one that lost its memory would look the same; `quorate store init`, run before the first replica starts, says that it is new")
	default:
		n.log.Warn(n.words().abstains + jobs.FormatTick(at.Round(0)))
	}
}

// notReady says why no tick can run; "" if one can.
func (n *nodes) notReady() string {
	if joining := n.joining.Load(); joining != nil {
		return n.words().joining + ": " + config.OneLine((*joining).Error())
	}
	switch at, ok := n.Set.Vouching(); {
	case !ok:
		return n.words().silent + ": " + oneLine(errors.Join(n.Set.Unusable()...))
	case !at.IsZero():
		return n.words().grace + ": no tick runs before " + jobs.FormatTick(at.Round(0))
	}
	return ""
}

// words are what a replica says of its nodes.
type words struct{ retrying, answer, joining, silent, blank, abstains, grace string }

// words returns those for several nodes, or for the one Redis.
func (n *nodes) words() words {
	if n.Set.OneStore() {
		return words{
			retrying: "no job runs until the store answers; trying again until then",
			answer:   "the store answers", joining: "waiting for the store", silent: "the store cannot be used",
			blank:    "new store",
			abstains: "the store is new, was restarted, or another server has taken over: no tick runs before ",
			grace:    "waiting for the restart grace of the store, which is new, was restarted, or is another server now",
		}
	}
	return words{
		retrying: "no job runs until a quorum of nodes answers; trying again until then",
		answer:   "a quorum of nodes answers", joining: "waiting for the nodes", silent: "no quorum: too few nodes can be used",
		blank:    "new nodes",
		abstains: "nodes that are new or restarted do not vouch yet: no tick runs before ",
		grace:    "waiting for the restart grace of the nodes",
	}
}

// openNodes opens the nodes of a replica and what is kept on them.
func openNodes(cfg membership.Config, options Redis, log *slog.Logger, m Metrics) (*nodes, error) {
	n := &nodes{log: log}
	n.joining.Store(&errNotJoined)
	cfg.Observer = counting(n.noticeFormatting(events{log: log}.nodes()), m)
	cfg.Dial, cfg.Embedded = options.Dial, options.Embedded
	if fresh := cfg.Fresh; options.TLS != nil {
		cfg.TLS = options.TLS
		cfg.Fresh = func() (membership.Config, error) {
			now, err := fresh()
			now.TLS = options.TLS
			return now, err
		}
	}
	var err error
	if n.Cluster, err = quorum.Open(cfg); err != nil {
		return nil, err
	}
	n.Unreadable.To(log)
	if n.locker, err = redlock.New(n.Set, redlock.Options{}); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Stores implements backend.
func (n *nodes) Stores() scheduler.Stores {
	return scheduler.Stores{
		Locker: n.locker, Ledger: n.Ledger, Roster: n.Ledger, JobSets: n.Ledger, Archive: n.Ledger, Commands: n.Commands, Forget: view.ForgetJob(n),
	}
}

// ClockOffset implements backend.
func (n *nodes) ClockOffset() (time.Duration, bool) { return n.Set.ClockOffset() }

func (n *nodes) watch(ctx context.Context) { _ = n.Set.Run(ctx) } // its error is that watching ended

func (n *nodes) members() *membership.Set { return n.Set }

func (n *nodes) close() error { return errors.Join(n.locker.Close(), n.Close()) }

// lookEvery is how long a replica hears nothing from the store until it looks.
const lookEvery = 5 * time.Second

// oneStore is one store of a replica, such as PostgreSQL.
type oneStore struct {
	*single.Cluster
	log *slog.Logger

	last atomic.Pointer[seen]
}

// seen is what the last look at the store has shown.
type seen struct {
	single.Look
	err error
}

// openStore opens the store of a replica.
func openStore(part Store, cluster config.Cluster, log *slog.Logger) (*oneStore, error) {
	server, err := part.Open(context.Background(), cluster)
	if err != nil {
		return nil, err
	}
	opened, err := single.Configured(server, cluster)
	if err != nil {
		return nil, err
	}
	opened.Unreadable.To(log)
	s := &oneStore{Cluster: opened, log: log}
	s.last.Store(&seen{err: errors.New("connecting to the store")})
	return s, nil
}

// look looks at the store once, writes to it, and says if that changes what is known.
func (s *oneStore) look(ctx context.Context) error {
	now := &seen{}
	if now.Look, now.err = s.Look(ctx); now.Unnoted {
		now.err = s.NoteIncarnation(ctx)
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
func (s *oneStore) join(ctx context.Context) error {
	final := func(err error) bool { return errors.Is(err, kv.ErrNotReady) || errors.Is(err, kv.ErrLogin) }
	return joining(ctx, s.log, "no job runs until the store answers; trying again until then", final, s.look)
}

// watch implements backend.
func (s *oneStore) watch(ctx context.Context) {
	for retry.After(ctx, lookEvery/5) {
		last := s.last.Load()
		if last.err == nil && last.VouchesAt.IsZero() {
			if now, ok := s.Still(last.Look, lookEvery); ok { // commands are read all the time, and heartbeats written
				s.last.Store(&seen{Look: now})
				continue
			}
		}
		_ = s.look(ctx) // notReady tells it
	}
}

// notReady implements backend.
func (s *oneStore) notReady() string {
	switch last := s.last.Load(); {
	case last.err != nil:
		return "waiting for the store: " + config.OneLine(last.err.Error())
	case !last.VouchesAt.IsZero() && time.Now().Before(last.VouchesAt):
		return "waiting for the grace of the store: no tick runs before " + jobs.FormatTick(last.VouchesAt.Round(0))
	}
	return ""
}

// Nodes implements backend. A look does not show whether the store takes writes.
func (s *oneStore) Nodes(ctx context.Context) []view.Node {
	rows := s.Cluster.Nodes(ctx)
	if last := s.last.Load(); last.err != nil && rows[0].State == view.NodeReady {
		rows[0].State, rows[0].Error = view.NodeRefusing, view.Optional(last.err.Error())
	}
	return rows
}

// ClockOffset implements backend.
func (s *oneStore) ClockOffset() (time.Duration, bool) {
	last := s.last.Load()
	return -last.Offset, last.err == nil
}

func (s *oneStore) members() *membership.Set { return nil }

func (s *oneStore) close() error { return s.Close() }
