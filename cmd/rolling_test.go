package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/truth"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignRollingRestart: three processes, five servers, a tick a second; the processes
// are drained and restarted one after the other, repeatedly, as in a roll-out. No tick is
// lost, none runs twice.
func TestCampaignRollingRestart(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "lines")
	config := writeConfig(t, redistest.StartN(t, 5), fmt.Sprintf(writesLines, out))
	initNew(t, config)
	replicas := make([]*process, 3)
	for i := range replicas {
		replicas[i] = startReplica(t, config, fmt.Sprintf("%c-0", 'a'+i))
	}
	lives := slices.Clone(replicas)
	for _, r := range replicas {
		r.waitLog(`"ready"`)
	}
	// The run begins when all are there, and ends while they are.
	began, restarts := *listing.Stamp(time.Now()), 0
	for end := time.Now().Add(lasting(10*time.Second, time.Minute)); time.Now().Before(end) || restarts < len(replicas); restarts++ {
		i := restarts % len(replicas)
		replicas[i].signal(syscall.SIGTERM)
		if code := replicas[i].exitCode(); code != exitDone {
			t.Errorf("%s exited with %d", replicas[i].id, code)
		}
		replicas[i] = startReplica(t, config, fmt.Sprintf("%c-%d", 'a'+i, restarts+1))
		replicas[i].waitLog(`"ready"`)
		lives = append(lives, replicas[i])
		// Like minReadySeconds in a Deployment: restarting all replicas within the time of
		// one competition for a tick loses it.
		wait(t, 300*time.Millisecond)
	}
	ended := *listing.Stamp(time.Now().Add(-time.Second))
	for _, r := range replicas {
		r.signal(syscall.SIGTERM)
	}
	for _, r := range replicas {
		if code := r.exitCode(); code != exitDone {
			t.Errorf("%s exited with %d", r.id, code)
		}
	}

	lines := readLines(t, out)
	checkOnce(t, lines)
	ticks := slices.DeleteFunc(everySecond(t, lines[0].tick, lines[len(lines)-1].tick), func(tick string) bool { return tick < began || tick > ended })
	store := checkTruth(t, config, map[string][]string{"tick": ticks}, out, lives...)
	for _, tick := range ticks {
		if row := store[truth.Tick{Job: "tick", At: moment(t, tick)}]; row.Outcome != ledger.Succeeded {
			t.Errorf("tick %s is %s (%s)", tick, row.Outcome, output.Why(row.Run))
		}
	}
	t.Logf("%d restarts, %d ticks, run by %d different processes", restarts, len(ticks), len(winners(lines)))
}
