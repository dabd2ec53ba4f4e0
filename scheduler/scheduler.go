package scheduler

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Scheduler is one replica: it claims the ticks of its jobs and runs those it
// wins. Make one with New.
type Scheduler struct {
	cfg    Config
	clock  clocks
	lineup lineup
	public *publisher

	started atomic.Bool
	asks    chan ask
	done    chan struct{} // closed when the loop has ended

	refresh chan struct{} // holds one element after Refresh

	aborted   chan struct{}
	abortOnce sync.Once
}

// New checks cfg and list and returns a Scheduler that does not run yet. The
// error joins everything that is wrong.
func New(cfg Config, list []Job) (*Scheduler, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg, clock: newClocks(cfg.Clock), public: newPublisher(cfg),
		asks: make(chan ask), done: make(chan struct{}), aborted: make(chan struct{}),
		refresh: make(chan struct{}, 1),
	}
	s.lineup.serving = map[string]*served{}
	if _, err := s.set(list, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// Run schedules until ctx ends, then drains: it takes no new ticks, lets
// running jobs go on for Config.DrainTimeout while their leases are extended,
// cancels the rest with cause jobs.ErrDraining, and returns when all have ended
// and the ledger knows. It returns nil after a complete drain and a *StuckError
// when functions did not return. It may be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	if !s.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	// What serves the drain outlives ctx, and is ended here.
	base := context.WithoutCancel(ctx)
	recording, stopRecording := context.WithCancel(base)
	defer stopRecording()
	beating, stopBeating := context.WithCancel(base)
	defer stopBeating()

	rec, heart := newRecorders(s.cfg), newHeart(s, s.public.serving)
	s.public.live = heart.live
	s.public.account = func(learned map[string]time.Time) accounts { return rec.reduce(s.accounted(learned)) }
	var helpers sync.WaitGroup
	helpers.Go(func() { rec.run(recording) })
	helpers.Go(func() { heart.run(beating) })
	helpers.Go(func() { s.public.run(beating) })
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	engine := s.begin(base, rec, heart.live)
	helpers.Go(func() { engine.desk.run(base) })
	helpers.Go(func() { s.follow(following) })
	helpers.Go(func() { forgetter{s.cfg, s.clock.wall, s.public.serves}.run(following) })
	err := engine.run(ctx)

	stopFollowing()
	stopBeating()
	rec.flush()
	stopRecording()
	helpers.Wait()
	s.public.account = func(learned map[string]time.Time) accounts { return rec.reduce(engine.accounted(learned)) }
	s.public.finish(base)
	return err
}

// begin makes the engine, to which updates go from then on.
func (s *Scheduler) begin(base context.Context, rec recorders, live func() []Replica) *engine {
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	s.lineup.engine = newEngine(base, s, rec, live)
	return s.lineup.engine
}

// Abort cancels running jobs at once with cause jobs.ErrDraining, instead of
// after Config.DrainTimeout, and makes Run drain if it does not yet. It may be
// called from any goroutine, at any time, more than once.
func (s *Scheduler) Abort() {
	s.abortOnce.Do(func() { close(s.aborted) })
}
