package schedtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// logs are an archive in memory. It keeps everything, despite a job's history.
type logs struct {
	mu   sync.Mutex
	list map[string]ledger.Log // by job and token
}

func (l *logs) Store(_ context.Context, _ string, _ ledger.History, list ...ledger.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range list {
		l.list[logName(log.Job, log.Token)] = log
	}
	return nil
}

func (l *logs) Log(_ context.Context, job string, _ time.Time, token locking.Token) (ledger.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log, ok := l.list[logName(job, token)]; ok {
		return log, nil
	}
	return ledger.Log{}, ledger.ErrNoLog
}

func logName(job string, token locking.Token) string { return fmt.Sprint(job, " ", token) }

// gatedLogs are an archive behind a gate.
type gatedLogs struct{ *gate }

func (g gatedLogs) Store(ctx context.Context, job string, h ledger.History, list ...ledger.Log) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Archive.Store(ctx, job, h, list...)
}

func (g gatedLogs) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	if err := g.through(ctx); err != nil {
		return ledger.Log{}, err
	}
	return g.stores.Archive.Log(ctx, job, tick, token)
}

// Log returns the log that a run wrote with its Run.Logger, in lines as slog.TextHandler
// writes them; the run is one of Runs or Ticks.
func (c *Cluster) Log(run ledger.Entry) string {
	c.t.Helper()
	log, err := c.world.stores.Archive.Log(context.WithoutCancel(c.t.Context()), run.Job, run.OrderKey(), run.Token)
	if err != nil && !errors.Is(err, ledger.ErrNoLog) {
		c.t.Fatal(err)
	}
	return log.Text
}
