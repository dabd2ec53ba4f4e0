package rows

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/benchmarks/rig"
)

// byHand runs robfig/cron with redsync as people write it: every replica tries
// once to lock a mutex that is named after the job and the second, and unlocks
// it at the end. It says what became of the ticks.
func (e Env) byHand(ctx context.Context, addrs []string) (string, error) {
	h := &hand{runs: map[handTick]int{}}
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for range few {
		peer := rig.NewRedsync(addrs)
		c := cron.New()
		for i := range e.Size.HandJobs {
			c.Schedule(cron.Every(time.Second), cron.FuncJob(func() { h.run(ctx, peer, i) }))
		}
		c.Start()
		stops = append(stops, func() {
			<-c.Stop().Done()
			_ = peer.Close() // the connections of this process
		})
	}
	first := nextSecond(time.Second)
	if err := sleep(ctx, first.Add(time.Duration(e.Size.HandSeconds+1)*time.Second)); err != nil {
		return "", err
	}
	return h.account(first, e.Size.HandSeconds, e.Size.HandJobs), nil
}

// A handTick is a job's second.
type handTick struct {
	job    int
	second int64
}

// A hand counts the runs of jobs by tick.
type hand struct {
	mu   sync.Mutex
	runs map[handTick]int
}

// run is what a job does: it is not told its tick, so it takes the current second.
func (h *hand) run(ctx context.Context, peer *rig.Redsync, job int) {
	tick := handTick{job, time.Now().Unix()}
	m := peer.NewMutex(fmt.Sprintf("hand-%d-%d", tick.job, tick.second))
	if m.TryLockContext(ctx) != nil {
		return
	}
	h.mu.Lock()
	h.runs[tick]++
	h.mu.Unlock()
	_, _ = m.UnlockContext(ctx) // if it fails, the lock runs out
}

// account says what became of the ticks of so many seconds from first on.
func (h *hand) account(first time.Time, seconds, jobs int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	won, again := 0, 0
	for tick, n := range h.runs {
		if since := tick.second - first.Unix(); since >= 0 && since < int64(seconds) {
			won++
			again += n - 1
		}
	}
	return fmt.Sprintf("robfig/cron with redsync TryLock by hand, %d replicas: of %d ticks %d without a winner, %d runs one too many",
		few, jobs*seconds, jobs*seconds-won, again)
}
