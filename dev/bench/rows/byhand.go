package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/scheduler/schedule"
)

// byHand runs robfig/cron with redsync as people write it, for some seconds, by way of
// the addresses: every replica tries once to lock a mutex that is named after the job and
// the tick, and unlocks it at the end. Jobs tick each second, the given time apart. It
// returns the starts of the ticks that count.
func (e Env) byHand(ctx context.Context, addrs []string, jobs, seconds int, apart time.Duration) ([]start, error) {
	b := &book{}
	for i := range few {
		peer, c := rig.NewRedsync(addrs), cron.New()
		for j := range jobs {
			h := hand{
				replica: fmt.Sprint(i), job: fmt.Sprintf("hand-%d", j), peer: peer,
				every: schedule.Every{Interval: time.Second, Offset: time.Duration(j) * apart},
			}
			c.Schedule(h.every, cron.FuncJob(func() { h.run(ctx, b) }))
		}
		c.Start()
		defer func() {
			<-c.Stop().Done()
			_ = peer.Close() // the connections of this process
		}()
	}
	first := nextSecond(2 * time.Second)
	before := first.Add(time.Duration(seconds) * time.Second)
	err := sleep(ctx, before.Add(time.Second))
	return b.between(first, before), err
}

// A hand is a job on one replica.
type hand struct {
	replica, job string
	peer         *rig.Redsync
	every        schedule.Every
}

// run is what the job does. It is not told its tick, so it takes the last one.
func (h hand) run(ctx context.Context, b *book) {
	tick := h.every.Next(time.Now().Add(-h.every.Interval))
	m := h.peer.NewMutex(fmt.Sprintf("%s-%d", h.job, tick.UnixMilli()))
	if m.TryLockContext(ctx) != nil {
		return
	}
	b.note(start{h.job, h.replica, tick, time.Since(tick)})
	_, _ = m.UnlockContext(ctx) // if it fails, the lock runs out
}
