package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/cells"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/redisstore"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

// Pauses between tries to join the nodes.
const (
	firstJoinPause = 250 * time.Millisecond
	maxJoinPause   = 5 * time.Second
)

// A cell is one group of nodes, as a replica uses it: it claims ticks once the
// nodes have been joined.
type cell struct {
	*redlock.Locker
	set *members.Set
	log *slog.Logger

	formatted atomic.Bool           // a node was formatted while joining
	joining   atomic.Pointer[error] // why joining has not succeeded yet
}

// errNotJoined is what a cell says before Run.
var errNotJoined = errors.New("joining the nodes")

// newCell returns the configuration of a cell with its part in the log and in the
// metrics, if there are any.
func newCell(cfg members.Config, log *slog.Logger, m Metrics) (*cell, members.Config) {
	if cfg.Cell != "" {
		log = log.With("cell", cfg.Cell)
	}
	c := &cell{log: log}
	c.joining.Store(&errNotJoined)
	cfg.Observer = counting(c.noticeFormatting(events{log: log}.nodes()), cfg.Cell, m)
	return c, cfg
}

// TryAcquire implements locking.Locker. What the nodes are is judged when they
// are joined, so nothing is claimed before.
func (c *cell) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if why := c.joining.Load(); why != nil {
		return nil, &locking.AcquireError{
			Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: c.set.Len()},
			Nodes: []locking.NodeError{{Node: "not joined yet", Err: *why}},
		}
	}
	return c.Locker.TryAcquire(ctx, req)
}

// noticeFormatting remembers whether nodes were blank when this replica came.
func (c *cell) noticeFormatting(o members.Observer) members.Observer {
	tell := o.Formatted
	o.Formatted = func(node string, until time.Time) {
		c.formatted.Store(true)
		tell(node, until)
	}
	return o
}

// attend joins the nodes and looks after them until watching ends. It tells tried
// after the first try to join, and joined when one has succeeded. It returns an
// error if the nodes refuse this replica.
func (c *cell) attend(ctx, watching context.Context, tried, joined chan<- struct{}) error {
	err := c.join(ctx, sync.OnceFunc(func() { tried <- struct{}{} }))
	if err != nil || c.joining.Load() != nil {
		return err
	}
	joined <- struct{}{}
	_ = c.set.Run(watching) // its error is that watching ended
	return nil
}

// join tries until a quorum of nodes is there, the nodes refuse, or ctx ends,
// which is no error.
func (c *cell) join(ctx context.Context, tried func()) error {
	began := time.Now()
	for pause := firstJoinPause; ; pause = min(2*pause, maxJoinPause) {
		err := c.set.Join(ctx)
		if err == nil {
			c.joined(time.Since(began), pause != firstJoinPause)
		}
		if err == nil || errors.Is(err, locking.ErrRefused) {
			tried()
			return err
		}
		if pause == firstJoinPause && ctx.Err() == nil {
			c.log.Warn("no job runs until a quorum of nodes answers; trying again until then", "why", config.OneLine(err.Error()))
		}
		c.joining.Store(&err)
		tried()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// joined says from when on jobs run.
func (c *cell) joined(took time.Duration, retried bool) {
	c.joining.Store(nil)
	if retried {
		c.log.Info("a quorum of nodes answers", "after", took.Round(time.Millisecond))
	}
	switch at, ok := c.set.Vouching(); {
	case !ok || at.IsZero():
		c.log.Info("ready")
	case c.formatted.Load():
		c.log.Warn("new nodes: no tick runs before " + jobs.FormatTick(at.Round(0)) +
			", since nodes that lost their memory would look the same; `quorate nodes init`, run before the first replica starts, says that nodes are new")
	default:
		c.log.Warn("nodes that are new or restarted do not vouch yet: no tick runs before " + jobs.FormatTick(at.Round(0)))
	}
}

// notReady says why no tick of the cell's jobs can run; "" if one can.
func (c *cell) notReady() string {
	if joining := c.joining.Load(); joining != nil {
		return "waiting for the nodes: " + config.OneLine((*joining).Error())
	}
	switch at, ok := c.set.Vouching(); {
	case !ok:
		return "no quorum: too few nodes answer: " + oneLine(errors.Join(c.set.Unusable()...))
	case !at.IsZero():
		return "waiting for the restart grace of the nodes: no tick runs before " + jobs.FormatTick(at.Round(0))
	}
	return ""
}

// openCells opens the cells of a replica, which are those of the cluster.
func openCells(list []members.Config, options Redis, log *slog.Logger, m Metrics) ([]*cell, *redisstore.Cluster, error) {
	all := make([]*cell, len(list))
	for i, cfg := range list {
		cfg.Dial, cfg.Embedded = options.Dial, options.Embedded
		if options.TLS != nil {
			cfg.TLS = options.TLS
		}
		all[i], list[i] = newCell(cfg, log, m)
	}
	cluster, err := redisstore.Open(list)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range all {
		c.set = cluster.Sets[i]
		if c.Locker, err = redlock.New(c.set, redlock.Options{}); err != nil {
			return nil, nil, errors.Join(err, closeLockers(all[:i]), cluster.Close())
		}
	}
	return all, cluster, nil
}

// lockerOf is the one over all cells.
func lockerOf(all []*cell, layout cells.Layout) locking.Locker {
	if len(all) == 1 {
		return all[0]
	}
	l := &cells.Locker{Layout: layout}
	for _, c := range all {
		l.Cells = append(l.Cells, c)
	}
	return l
}

func closeLockers(all []*cell) error {
	var errs []error
	for _, c := range all {
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", c.set.Cell(), err))
		}
	}
	return errors.Join(errs...)
}
