package cmd

import (
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignRollingRestart: three processes, five servers, a tick a second; the processes
// are drained and restarted one after the other, repeatedly, as in a roll-out. No tick is
// lost, none runs twice.
func TestCampaignRollingRestart(t *testing.T) {
	t.Parallel()
	c := onRedis(t, redistest.StartN(t, 5), writesLines)
	initNew(t, c.Config)
	// A process that follows another has another name.
	processes := make([]string, 3)
	for i := range processes {
		processes[i] = fmt.Sprintf("%c-0", 'a'+i)
	}
	c.Start(processes...)
	c.Ready()
	// The run begins when all are there, and ends while they are.
	began, restarts := time.Now(), 0
	for end := began.Add(length.Of(10*time.Second, time.Minute)); time.Now().Before(end) || restarts < len(processes); restarts++ {
		i := restarts % len(processes)
		c.Replicas[processes[i]].Drain()
		delete(c.Replicas, processes[i])
		processes[i] = fmt.Sprintf("%c-%d", 'a'+i, restarts+1)
		c.Start(processes[i])
		c.Ready()
		// Like minReadySeconds in a Deployment: restarting all replicas within the time of
		// one competition for a tick loses it.
		c.Wait(300 * time.Millisecond)
	}
	ended := time.Now().Add(-time.Second)
	c.Drain()

	c.CheckOnce()
	c.Due("tick", time.Second, began, ended)
	rows := c.CheckTruth()
	for _, tick := range c.Facts.Ticks {
		if row := rows[tick]; row.Outcome != ledger.Succeeded {
			t.Errorf("tick %s is %s (%s)", tick, row.Outcome, output.Why(row.Run))
		}
	}
	t.Logf("%d restarts, %d ticks, run by %d different processes", restarts, len(rows), len(winners(c.Effects())))
}
