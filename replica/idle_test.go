package replica

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// Twenty replicas without work send at most 20 calls a second to one store: they read the
// commands within two seconds, and announce themselves. They seldom look at a store that answers.
func TestIdleReplicasOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := declaredNew(t)
		var mu sync.Mutex
		calls := map[string]int{}
		m.Fault = func(_ context.Context, c kvtest.Call) error {
			mu.Lock()
			defer mu.Unlock()
			if !c.Answered {
				calls[c.Method]++
			}
			return nil
		}
		for n := range 20 {
			var ran ranTicks
			r, err := New(Config{
				Replica: settings.Replica{ID: fmt.Sprint("replica-", n)}, Store: m, Logger: logTo(io.Discard),
				Jobs: []jobs.Job{{Name: "j", Spec: "0 0 1 1 *", Handler: ran.run}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer start(t.Context(), r)()
		}
		time.Sleep(time.Minute)
		mu.Lock()
		clear(calls)
		mu.Unlock()
		const seconds = 1000
		time.Sleep(seconds * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if calls["Read"]+calls["List"]+calls["Commit"] > 20*seconds || calls["Read"] > seconds/4 {
			t.Errorf("of %d s the calls are %v", seconds, calls)
		}
	})
}
