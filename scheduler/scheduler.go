package scheduler

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/internal/recorder"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// A Scheduler is one replica: it claims the ticks of its jobs and runs those it wins.
// Create one with New.
type Scheduler struct {
	cfg    Config
	clock  clocks
	lineup lineup
	public *presence.Publisher

	started atomic.Bool
	queries chan query
	done    chan struct{} // closed when the loop has ended

	refresh chan struct{} // holds one element after Refresh

	aborted   chan struct{}
	abortOnce sync.Once
}

// New checks cfg and list and returns a Scheduler that does not run yet. The error joins
// everything that is wrong.
func New(cfg Config, list []Job) (*Scheduler, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg, clock: newClocks(cfg.Clock), public: presence.New(cfg.Replica, cfg.Instance, cfg.Roster, cfg.JobSets, cfg.Clock, cfg.BeatEvery),
		queries: make(chan query), done: make(chan struct{}), aborted: make(chan struct{}),
		refresh: make(chan struct{}, 1),
	}
	s.lineup.serving = map[string]*served{}
	if _, err := s.set(list, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// Run schedules until ctx ends, then drains: it claims no new ticks, extends the leases of
// running jobs for Config.DrainTimeout, cancels the rest with cause jobs.ErrDraining, and
// returns when all have ended and are recorded. It returns nil after a complete drain and a
// *StuckError when functions did not return. It may be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	if !s.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	// Goroutines that serve the drain outlive ctx, and are ended here.
	base := context.WithoutCancel(ctx)
	recording, stopRecording := context.WithCancel(base)
	defer stopRecording()
	beating, stopBeating := context.WithCancel(base)
	defer stopBeating()

	rec, heartbeat := s.recorder(), s.heartbeat()
	s.public.Live = heartbeat.Live
	s.public.Account = func(learned map[string]time.Time) roster.Accounts { return rec.Reduce(s.accounted(learned)) }
	var helpers sync.WaitGroup
	helpers.Go(func() { rec.Run(recording) })
	helpers.Go(func() { heartbeat.Run(beating) })
	helpers.Go(func() { s.public.Run(beating) })
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	engine := s.begin(base, rec, heartbeat.Live)
	helpers.Go(func() { engine.requests.desk.run(base) })
	helpers.Go(func() { s.follow(following) })
	helpers.Go(func() { s.forgetter().Run(following) })
	err := engine.run(ctx)

	stopFollowing()
	stopBeating()
	rec.Flush()
	stopRecording()
	helpers.Wait()
	s.public.Account = func(learned map[string]time.Time) roster.Accounts { return rec.Reduce(engine.accounted(learned)) }
	s.public.Finish(base)
	return err
}

// begin creates the engine, which gets all later updates.
func (s *Scheduler) begin(base context.Context, rec *recorder.Recorder, live func() []Replica) *engine {
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	s.lineup.engine = newEngine(base, s, rec, live)
	return s.lineup.engine
}

// Abort cancels running jobs at once with cause jobs.ErrDraining, instead of after
// Config.DrainTimeout. It starts the drain if needed. Any goroutine may call it, at any
// time, more than once.
func (s *Scheduler) Abort() {
	s.abortOnce.Do(func() { close(s.aborted) })
}

// CheckParams does so for the job with the key. It returns nil for jobs that this replica
// does not serve.
func (s *Scheduler) CheckParams(key string, params json.RawMessage) error {
	if j := s.public.Job(key); j != nil {
		return j.CheckParams(params)
	}
	return nil
}
