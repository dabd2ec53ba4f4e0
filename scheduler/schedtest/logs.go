package schedtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// logs are the archive of a Cluster. It keeps everything, despite a job's history.
type logs struct {
	mu   sync.Mutex
	list map[string]ledger.Log // by job and token
}

// gatedLogs are the logs behind a gate.
type gatedLogs struct{ *gate }

func (g gatedLogs) Store(ctx context.Context, _ string, _ ledger.History, list ...ledger.Log) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	g.logs.mu.Lock()
	defer g.logs.mu.Unlock()
	for _, l := range list {
		g.logs.list[logName(l.Job, l.Token)] = l
	}
	return nil
}

func (g gatedLogs) Log(ctx context.Context, job string, _ time.Time, token locking.Token) (ledger.Log, error) {
	if err := g.through(ctx); err != nil {
		return ledger.Log{}, err
	}
	l, ok := g.logs.of(job, token)
	if !ok {
		return l, ledger.ErrNoLog
	}
	return l, nil
}

func (l *logs) of(job string, token locking.Token) (ledger.Log, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log, ok := l.list[logName(job, token)]
	return log, ok
}

// Log returns the log that a run wrote with its Run.Logger, in lines as slog.TextHandler
// writes them; the run is one of Runs or Ticks.
func (c *Cluster) Log(run ledger.Entry) string {
	c.t.Helper()
	log, _ := c.world.logs.of(run.Job, run.Token)
	return log.Text
}

func logName(job string, token locking.Token) string { return fmt.Sprint(job, " ", token) }
