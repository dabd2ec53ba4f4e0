package view_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// slowRoster takes a second to list the jobs, and counts how often it does.
type slowRoster struct {
	schedtest.Roster
	reads atomic.Int64
}

// Jobs implements roster.Roster.
func (r *slowRoster) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	r.reads.Add(1)
	select {
	case <-time.After(time.Second):
		return r.Roster.Jobs(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The directory is read once for all callers while it is cached, and again after a command. A
// caller that gives up does not affect others.
func TestDirectoryCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		peers := new(slowRoster)
		publish := func(name string) {
			if err := peers.Publish(t.Context(), []roster.JobInfo{{Name: name, Published: time.Now(), Replica: "a"}}); err != nil {
				t.Fatal(err)
			}
		}
		publish("report")
		c := view.Control{Reader: view.Reader{Records: store.Records{Ledger: schedtest.NewLedger(new(locktest.Memory)), Roster: peers, Commands: new(schedtest.Commands)}, Cache: &view.DirectoryCache{For: 5 * time.Second}}}
		ask := func(ctx context.Context, want int) {
			if d, err := c.Directory(ctx); err != nil || len(d.Keys) != want {
				t.Errorf("%d jobs, %v, want %d", len(d.Keys), err, want)
			}
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var asking sync.WaitGroup
		asking.Go(func() {
			if _, err := c.Directory(hasty); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who gave up was told %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			asking.Go(func() { ask(t.Context(), 1) })
		}
		asking.Wait()
		publish("sweep")
		ask(t.Context(), 1)
		if n := peers.reads.Load(); n != 2 {
			t.Errorf("the jobs were listed %d times, want 2: by who gave up, and by one of the others", n)
		}
		if _, err := c.Trigger(t.Context(), commands.Command{Job: "sweep", By: "ann"}); err != nil {
			t.Errorf("a command on a new job: %v", err)
		}
		ask(t.Context(), 2)
		publish("third")
		time.Sleep(6 * time.Second)
		ask(t.Context(), 3)
		if n := peers.reads.Load(); n != 4 {
			t.Errorf("the jobs were listed %d times, want 4", n)
		}
	})
}
