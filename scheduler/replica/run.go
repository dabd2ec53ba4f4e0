package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// Pauses between tries to join the nodes.
const (
	firstJoinPause = 250 * time.Millisecond
	maxJoinPause   = 5 * time.Second
)

// Run joins the nodes and runs jobs until ctx ends, then drains; see
// scheduler.Scheduler.Run. It returns nil after a complete drain, an error
// matching locking.ErrRefused if the nodes refuse this replica, and a
// *scheduler.StuckError if jobs did not end. While no quorum of nodes answers
// it waits. It may be called once, and leaves nothing behind but the functions
// that a *scheduler.StuckError names.
func (r *Replica) Run(ctx context.Context) error {
	if !r.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	defer context.AfterFunc(ctx, func() { r.draining.Store(true) })()
	waiting := errors.New("joining the nodes")
	r.joining.Store(&waiting)
	probes, err := startProbes(ctx, r.probeAddr, r.log, r.notReady)
	if err != nil {
		return errors.Join(err, r.close())
	}
	if probes.listener != nil {
		r.mu.Lock()
		r.serving = probes.listener.Addr()
		r.mu.Unlock()
	}
	err = r.serve(ctx)
	r.draining.Store(true)
	if err = errors.Join(err, r.close(), probes.stop()); err == nil {
		r.log.Info("stopped")
	}
	return err
}

// serve joins the nodes and runs the scheduler, with somebody looking after
// the nodes until the drain is over.
func (r *Replica) serve(ctx context.Context) error {
	if err := r.join(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { _ = r.set.Run(watching) }) // its error is that watching ended
	stopTelling := r.webhooks.start(ctx)
	if r.reloader != nil {
		watcher.Go(func() { r.reloader.run(watching) })
	}
	err := r.scheduler.Run(ctx)
	stopTelling()
	stopWatching()
	watcher.Wait()
	return err
}

func (r *Replica) close() error { return errors.Join(r.locker.Close(), r.set.Close()) }

// join tries until a quorum of nodes is there, the nodes refuse, or ctx ends,
// which is no error.
func (r *Replica) join(ctx context.Context) error {
	began := time.Now()
	for pause := firstJoinPause; ; pause = min(2*pause, maxJoinPause) {
		err := r.set.Join(ctx)
		if err == nil {
			r.joined(time.Since(began), pause != firstJoinPause)
			return nil
		}
		if errors.Is(err, locking.ErrRefused) {
			return err
		}
		if pause == firstJoinPause && ctx.Err() == nil {
			r.log.Warn("no job runs until a quorum of nodes answers; trying again until then", "why", oneLine(err.Error()))
		}
		r.joining.Store(&err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// joined says from when on jobs run.
func (r *Replica) joined(took time.Duration, retried bool) {
	r.joining.Store(nil)
	if retried {
		r.log.Info("a quorum of nodes answers", "after", took.Round(time.Millisecond))
	}
	switch at, ok := r.set.Vouching(); {
	case !ok || at.IsZero():
		r.log.Info("ready")
	case r.formatted.Load():
		r.log.Warn("new nodes: no tick runs before " + jobs.FormatTick(at.Round(0)) +
			", since nodes that lost their memory would look the same; `quorate nodes init` says that these nodes are new and ends the wait")
	default:
		r.log.Warn("nodes that are new or restarted do not vouch yet: no tick runs before " + jobs.FormatTick(at.Round(0)))
	}
}
