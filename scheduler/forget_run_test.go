package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// TestForget: a job that was removed from all replicas is forgotten, once, after
// ForgetAfter; one that a replica still serves never is.
func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		keep, drop, back := every(t, "30m", "keep", c.handler(nil)), every(t, "30m", "drop", c.handler(nil)), every(t, "30m", "back", c.handler(nil))
		var list []*scheduler.Scheduler
		for _, id := range []string{"r1", "r2", "r3"} {
			s := c.replica(id, func(cfg *scheduler.Config) {
				cfg.ForgetAfter = 5 * time.Hour
				cfg.Forget = func(_ context.Context, key string) error {
					c.say(id, "forgets %s after %d h", key, time.Since(c.begun)/time.Hour)
					return nil
				}
				on(cfg, event.Forgotten, func(e event.Event) {
					c.say(id, "forgot %s %v", e.Entry.Job, e.Err)
					if lasted := time.Since(e.Since); lasted < 5*time.Hour || lasted > 8*time.Hour {
						t.Errorf("%s was last served %v ago", e.Entry.Job, lasted)
					}
				})
			}, keep, drop, back)
			list = append(list, s)
			defer c.stop(c.start(s))
		}
		time.Sleep(12 * time.Hour)
		c.saw(0, "forgets")
		for _, s := range list[:2] {
			c.update(s, keep)
		}
		time.Sleep(12 * time.Hour)
		c.saw(0, "forgets") // r3 serves them
		c.update(list[2], keep)
		time.Sleep(4 * time.Hour)
		c.update(list[1], keep, back)
		time.Sleep(5 * time.Hour)
		c.saw(1, "forgets drop")
		c.saw(1, "forgot drop <nil>")
		time.Sleep(12 * time.Hour)
		c.saw(1, "forgets")
		known, err := c.roster.Jobs(t.Context())
		if err != nil || len(known) != 2 || known[0].Name != "back" || known[1].Name != "keep" {
			t.Errorf("the list has %v, %v", known, err)
		}
	})
}
