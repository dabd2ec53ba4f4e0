package replica

import (
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
)

// observers tells several observers what happens, in order.
func observers(list ...scheduler.Observer) scheduler.Observer {
	return scheduler.Observer{
		Settled: settled(list),
		Started: started(list),
		Tried: func(job string, tick time.Time, took time.Duration, err error) {
			for _, o := range list {
				if o.Tried != nil {
					o.Tried(job, tick, took, err)
				}
			}
		},
		Unused: func(job string, c locking.Claim) {
			for _, o := range list {
				if o.Unused != nil {
					o.Unused(job, c)
				}
			}
		},
		Claimed: func(job string, c locking.Claim, took time.Duration) {
			for _, o := range list {
				if o.Claimed != nil {
					o.Claimed(job, c, took)
				}
			}
		},
		Lost: func(job string, tick time.Time, err error) {
			for _, o := range list {
				if o.Lost != nil {
					o.Lost(job, tick, err)
				}
			}
		},
		Retrying: func(job string, tick time.Time, err error, in time.Duration) {
			for _, o := range list {
				if o.Retrying != nil {
					o.Retrying(job, tick, err, in)
				}
			}
		},
		Decided: func(e scheduler.Entry) {
			for _, o := range list {
				if o.Decided != nil {
					o.Decided(e)
				}
			}
		},
		Retried: func(job string, c locking.Claim, try int, err error, in time.Duration) {
			for _, o := range list {
				if o.Retried != nil {
					o.Retried(job, c, try, err, in)
				}
			}
		},
		Extended: func(job string, c locking.Claim, e locking.Extension) {
			for _, o := range list {
				if o.Extended != nil {
					o.Extended(job, c, e)
				}
			}
		},
		Released: func(job string, c locking.Claim, left, took time.Duration, err error) {
			for _, o := range list {
				if o.Released != nil {
					o.Released(job, c, left, took, err)
				}
			}
		},
		Overdue: func(job string, c locking.Claim, since time.Time) {
			for _, o := range list {
				if o.Overdue != nil {
					o.Overdue(job, c, since)
				}
			}
		},
		Refused: func(job string, c locking.Claim, stale fence.StaleError) {
			for _, o := range list {
				if o.Refused != nil {
					o.Refused(job, c, stale)
				}
			}
		},
		Late: func(e scheduler.Entry, by time.Duration) {
			for _, o := range list {
				if o.Late != nil {
					o.Late(e, by)
				}
			}
		},
		LeaseLost: func(e scheduler.Entry, cause error) {
			for _, o := range list {
				if o.LeaseLost != nil {
					o.LeaseLost(e, cause)
				}
			}
		},
		Chained: func(job, run, key string, err error) {
			for _, o := range list {
				if o.Chained != nil {
					o.Chained(job, run, key, err)
				}
			}
		},
		NotArchived: func(job string, tick time.Time, err error) {
			for _, o := range list {
				if o.NotArchived != nil {
					o.NotArchived(job, tick, err)
				}
			}
		},
		Finished: func(e scheduler.Entry, released error) {
			for _, o := range list {
				if o.Finished != nil {
					o.Finished(e, released)
				}
			}
		},
		Recorded: func(e scheduler.Entry, err error) {
			for _, o := range list {
				if o.Recorded != nil {
					o.Recorded(e, err)
				}
			}
		},
		ClockJumped: func(by time.Duration) {
			for _, o := range list {
				if o.ClockJumped != nil {
					o.ClockJumped(by)
				}
			}
		},
		Overslept: func(job string, first, before time.Time) {
			for _, o := range list {
				if o.Overslept != nil {
					o.Overslept(job, first, before)
				}
			}
		},
		Updated: func(d scheduler.Diff) {
			for _, o := range list {
				if o.Updated != nil {
					o.Updated(d)
				}
			}
		},
		UpdateFailed: func(err error) {
			for _, o := range list {
				if o.UpdateFailed != nil {
					o.UpdateFailed(err)
				}
			}
		},
		Forgotten: func(job string, served time.Time, err error) {
			for _, o := range list {
				if o.Forgotten != nil {
					o.Forgotten(job, served, err)
				}
			}
		},
		Unread: func(job string, err error) {
			for _, o := range list {
				if o.Unread != nil {
					o.Unread(job, err)
				}
			}
		},
		Draining: func(running []string) {
			for _, o := range list {
				if o.Draining != nil {
					o.Draining(running)
				}
			}
		},
	}
}

// settled is nil unless somebody wants to be told: it costs a read.
func settled(list []scheduler.Observer) func(scheduler.Entry) {
	list = slices.DeleteFunc(slices.Clone(list), func(o scheduler.Observer) bool { return o.Settled == nil })
	if len(list) == 0 {
		return nil
	}
	return func(e scheduler.Entry) {
		for _, o := range list {
			o.Settled(e)
		}
	}
}

// started is nil unless somebody wants to be told, since an entry is made for it.
func started(list []scheduler.Observer) func(scheduler.Entry, time.Duration) {
	list = slices.DeleteFunc(slices.Clone(list), func(o scheduler.Observer) bool { return o.Started == nil })
	if len(list) == 0 {
		return nil
	}
	return func(e scheduler.Entry, behind time.Duration) {
		for _, o := range list {
			o.Started(e, behind)
		}
	}
}
