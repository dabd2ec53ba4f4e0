package rows

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// riverFetch is how often it looks for jobs: with its default, 1 s, the pause would be measured.
const riverFetch = 2 * time.Millisecond

// A riverTick is what River's periodic jobs insert: one unique job for each tick.
type riverTick struct {
	Job  int       `json:"job"`
	Tick time.Time `json:"tick"`
}

func (riverTick) Kind() string { return "tick" }

// riverWorker tells whoever waits for a job that it has worked.
type riverWorker struct {
	river.WorkerDefaults[riverTick]
	worked []chan struct{}
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverTick]) error {
	w.worked[j.Args.Job] <- struct{}{}
	return nil
}

// A riverSide inserts and works ticks of n jobs.
type riverSide struct {
	client    *river.Client[pgx.Tx]
	worker    *riverWorker
	completed <-chan *river.Event
	unwatch   func()
	closes    func() // its connections; nil: others use them
}

func newRiver(ctx context.Context, pool *pgxpool.Pool, n int) (*riverSide, error) {
	return startRiver(ctx, pool, newRiverWorker(n), n)
}

func newRiverWorker(n int) *riverWorker {
	w := &riverWorker{}
	for range n {
		w.worked = append(w.worked, make(chan struct{}, 1))
	}
	return w
}

// startRiver starts a client that works so many ticks at a time, at most as many as River allows.
func startRiver(ctx context.Context, pool *pgxpool.Pool, worker *riverWorker, most int) (*riverSide, error) {
	r := &riverSide{worker: worker}
	n := min(most, 1000)
	workers := river.NewWorkers()
	river.AddWorker(workers, r.worker)
	var err error
	r.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: n, FetchCooldown: riverFetch, FetchPollInterval: riverFetch}},
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	r.completed, r.unwatch = r.client.Subscribe(river.EventKindJobCompleted)
	go func() { // until unwatch
		for range r.completed {
		}
	}()
	return r, r.client.Start(ctx)
}

// insert asks for the next tick of a job.
func (r *riverSide) insert(ctx context.Context, job int) error {
	_, err := r.client.Insert(ctx, riverTick{job, time.Now()}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	return err
}

// run inserts the next tick, and waits until it has worked.
func (r *riverSide) run(ctx context.Context, job int) error {
	if err := r.insert(ctx, job); err != nil {
		return err
	}
	select {
	case <-r.worker.worked[job]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *riverSide) stop(ctx context.Context) error {
	err := r.client.Stop(ctx)
	r.unwatch()
	if r.closes != nil {
		r.closes()
	}
	return err
}
