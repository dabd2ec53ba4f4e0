package rows

import (
	"context"
	"errors"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/quorate/quorate/dev/bench/rig"
)

// atOnce is how many jobs a gocron scheduler works on at once. Without a limit the
// locks wait for one another in the clients' pools until they time out, and
// most jobs never start.
const atOnce = 128

// burstGocron is what burst measures of gocron: schedulers with a locker each.
func (e Env) burstGocron(ctx context.Context, at time.Time, t *tally) (_ float64, err error) {
	f := newFirsts(at)
	for range team {
		locker := rig.GocronLocker{Redsync: rig.NewRedsync(e.Rig.Addrs())}
		s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLimitConcurrentJobs(atOnce, gocron.LimitModeWait))
		if err != nil {
			return 0, err
		}
		defer func() {
			_ = s.Shutdown() // jobs that still wait for their locks are of no interest
			err = errors.Join(err, locker.Redsync.Close())
		}()
		for i := range e.Size.Burst {
			name := burstName(i)
			_, err := s.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartDateTime(at)),
				gocron.NewTask(func() { f.start(name) }), gocron.WithName(name))
			if errors.Is(err, gocron.ErrOneTimeJobStartDateTimePast) {
				return 0, errTooLate
			}
			if err != nil {
				return 0, err
			}
		}
		s.Start()
	}
	return f.wait(ctx, e, t)
}
