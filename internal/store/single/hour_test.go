package single_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
)

// A replica remembers the last hour of the store: how long calls took, how far its clock was off, when
// it was silent or took no writes, and that nobody watched for a while.
func TestLastHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trouble atomic.Pointer[func(kvtest.Call) error]
		m := &kvtest.Memory{Fault: func(_ context.Context, call kvtest.Call) error {
			if now := trouble.Load(); now != nil && !call.Answered {
				return (*now)(call)
			}
			return nil
		}}
		c, err := single.Open(skewed{m, 3 * time.Second}, claims.Config{Grace: grace}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = claims.DeclareNew(t.Context(), m); err == nil {
			err = c.Join(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if list := c.LastHour(time.Now()); list != nil {
			t.Errorf("before anybody watched there is %+v", list)
		}
		for _, minute := range []func(kvtest.Call) error{
			func(kvtest.Call) error { return nil },
			func(call kvtest.Call) error {
				if call.Method == "List" { // what others ask meanwhile
					time.Sleep(40 * time.Millisecond)
				}
				return nil
			},
			func(kvtest.Call) error { time.Sleep(400 * time.Millisecond); return nil }, // which tells no clock
			nil, // nobody watches
			func(kvtest.Call) error { return errors.New("cut off") },
			func(call kvtest.Call) error {
				if call.Method == "Commit" {
					return errors.New("no space")
				}
				return nil
			},
		} {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			if minute != nil {
				trouble.Store(&minute)
				var others sync.WaitGroup
				others.Go(func() {
					for retry.Sleep(ctx, time.Second) {
						_, _ = c.Roster.Replicas(ctx)
					}
				})
				c.Watch(ctx)
				others.Wait()
			}
			cancel()
		}
		var got []string
		for _, minute := range view.ControlOf(c).LastHour(time.Now()) {
			s := minute.Nodes[0]
			got = append(got, fmt.Sprintf("%d: up %v votes %v %v %v", minute.At.Minute(), s.Up, s.Votes, s.Latest, s.Offset.Round(time.Second)))
		}
		want := []string{
			"1: up true votes true 0s 3s", "2: up true votes true 40ms 3s", "3: up true votes true 400ms 3s",
			"5: up false votes false 0s 0s", "6: up true votes false 0s 3s",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the last hour was\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
