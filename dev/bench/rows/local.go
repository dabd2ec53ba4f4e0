package rows

import (
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A granting is a locker that grants everything at once: what is left is the
// cost of the scheduler.
type granting struct{}

// TryAcquire implements locking.Locker.
func (granting) TryAcquire(_ context.Context, req locking.Request) (locking.Lease, error) {
	now := time.Now()
	return &grant{deadline: now.Add(req.TTL), claim: locking.Claim{
		Name: req.Name, Tick: req.Tick, Stream: req.Stream, Token: locking.Token(req.Tick.UnixMilli()), Attempt: 1,
		Votes: locking.Votes{For: 1, Of: 1}, Granted: now,
	}}, nil
}

// A grant is a lease that lasts for its first term.
type grant struct {
	deadline time.Time
	claim    locking.Claim
}

func (g *grant) Claim() locking.Claim                   { return g.claim }
func (g *grant) Deadline() time.Time                    { return g.deadline }
func (g *grant) Extend(context.Context) error           { return nil }
func (g *grant) Release(context.Context, []byte) error  { return nil }
func (g *grant) HandOver(context.Context, []byte) error { return nil }
func (g *grant) Void(context.Context) error             { return nil }

// blank is a ledger that keeps nothing.
type blank struct{}

func (blank) Record(context.Context, ledger.Entry) (bool, error) { return true, nil }

func (blank) Runs(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

func (blank) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

// local starts a scheduler without nodes. It runs until stop.
func local(ctx context.Context, list []jobs.Job) (stop func() error, err error) {
	s, err := scheduler.New(scheduler.Config{Replica: "a", Stores: scheduler.Stores{Locker: granting{}, Ledger: blank{}}}, list)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { err = s.Run(running) })
	return func() error {
		cancel()
		wg.Wait()
		return err
	}, nil
}
