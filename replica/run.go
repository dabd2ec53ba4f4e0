package replica

import (
	"context"
	"errors"
	"sync"

	"github.com/quorate/quorate/scheduler"
)

// Run joins the nodes and runs jobs until ctx ends, then drains; see
// scheduler.Scheduler.Run. It returns nil after a complete drain, an error
// matching locking.ErrRefused if the nodes refuse this replica, an
// *OtherServiceError if the store belongs to another service, and a
// *scheduler.StuckError if jobs did not end. While no quorum of nodes answers,
// it waits. It may be called once, and leaves nothing behind but the functions that a
// *scheduler.StuckError names.
func (r *Replica) Run(ctx context.Context) error {
	if !r.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	probes, err := startProbes(ctx, r.probeAddr, r.log, r.notReady, r.metrics)
	if err != nil {
		return errors.Join(err, r.close())
	}
	if probes.listener != nil {
		r.mu.Lock()
		r.serving = probes.listener.Addr()
		r.mu.Unlock()
	}
	if err = r.serveDashboard(ctx); err == nil {
		err = r.serve(ctx)
	}
	r.draining.Store(true)
	if err = errors.Join(err, r.stopDashboard(), r.close(), probes.stop()); err == nil {
		r.log.Info("stopped")
	}
	return err
}

// serve joins the nodes and runs the scheduler. It looks after the nodes until the drain
// is over.
func (r *Replica) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { r.draining.Store(true) })()
	if err := r.backend.join(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := r.belong(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { r.backend.watch(watching) })
	err := r.schedule(ctx, watching, &watcher)
	stopWatching()
	watcher.Wait()
	return err
}

// warnNoJobs says so if there are no jobs, and none can come from a Source.
func (r *Replica) warnNoJobs(list []scheduler.Job) {
	if len(list) == 0 && !r.sourced {
		r.log.Warn("the configuration has no jobs: nothing runs")
	}
}

// schedule runs the scheduler, the webhooks and the reloader.
func (r *Replica) schedule(ctx, watching context.Context, watcher *sync.WaitGroup) error {
	stopTelling := r.webhooks.start(ctx)
	if r.reloader != nil {
		watcher.Go(func() { r.reloader.run(watching) })
	}
	err := r.scheduler.Run(ctx)
	stopTelling()
	return err
}

func (r *Replica) close() error { return r.backend.close() }
