package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

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
		Locker: n.locker, Ledger: n.Ledger, Roster: n.Ledger, JobSets: n.Ledger, Archive: n.Ledger, Acts: n.Acts, Forget: view.ForgetJob(n),
	}
}

// ClockOffset implements backend.
func (n *nodes) ClockOffset() (time.Duration, bool) { return n.Set.ClockOffset() }

func (n *nodes) watch(ctx context.Context) { _ = n.Set.Run(ctx) } // its error is that watching ended

func (n *nodes) members() *membership.Set { return n.Set }

func (n *nodes) close() error { return errors.Join(n.locker.Close(), n.Close()) }
