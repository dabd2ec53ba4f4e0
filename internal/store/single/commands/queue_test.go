package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/commands"
)

// queue queues a command, as an application's transaction does.
func queue(t *testing.T, m *kvtest.Memory, command commands.Command) {
	t.Helper()
	text, err := command.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, stamp, err := m.Read(t.Context(), key("queue", command.ID))
	if err != nil {
		t.Fatal(err)
	}
	txn := kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: key("queue", command.ID), Value: text}}}
	if o, err := m.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
}

// Of several replicas and with lost answers, each queued request becomes one command, in order.
func TestQueuedRequestsAreTakenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		var want []string
		for n := range 20 {
			want = append(want, fmt.Sprint("z", 20-n)) // not in the order of IDs
			queue(t, m, trigger(want[n]))
		}
		var mu sync.Mutex
		calls := 0
		m.Fault = func(context.Context, kvtest.Call) error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls%5 == 0 {
				return errLost
			}
			return nil
		}
		var reading sync.WaitGroup
		for range 3 {
			reading.Go(func() {
				for range 30 {
					_, _ = open(m).Open(t.Context())
				}
			})
		}
		reading.Wait()
		m.Fault = nil
		s := open(m)
		s.wantOpen(t, "then", want...)
		if got := stored(t, m); got["queue"] != 0 || got["act"] != 20 || got["audit"] != 20 {
			t.Errorf("stored are %v", got)
		}
		queue(t, m, trigger("z1"))
		s.wantOpen(t, "when one was queued again", want...)
	})
}

// What is wrong with a queued request is in the audit log; beyond the bound, requests wait.
func TestQueuedRequestsAreChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		s.most = 2
		s.mustDo(t, trigger("known"))
		other, wrong := trigger("known"), trigger("wrong")
		other.Job, wrong.Params = "other", json.RawMessage(`[1]`)
		queue(t, m, other)
		queue(t, m, wrong)
		queue(t, m, trigger("a"))
		queue(t, m, trigger("b"))
		s.wantOpen(t, "at first", "known", "a")
		var refused strings.Builder
		list, err := s.Audit(t.Context(), 10)
		for _, a := range list {
			refused.WriteString(a.Result)
		}
		if err != nil || !strings.Contains(refused.String(), "another command") || !strings.Contains(refused.String(), "no JSON object") {
			t.Errorf("the audit log says %q, %v", refused.String(), err)
		}
		if err := s.Close(t.Context(), "known", "succeeded"); err != nil {
			t.Fatal(err)
		}
		s.wantOpen(t, "when there is room", "a", "b")
	})
}

// Requests that only applications make are swept, too.
func TestQueuedRequestsAreSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		for day := range 10 {
			for n := range 100 {
				queue(t, m, trigger(fmt.Sprint(day, "-", n)))
			}
			for len(s.mustOpen(t).Requests) > 0 {
				for _, r := range s.mustOpen(t).Requests {
					if err := s.Close(t.Context(), r.ID, "done"); err != nil {
						t.Fatal(err)
					}
				}
			}
			time.Sleep(keep + time.Hour)
		}
		lists, _, err := m.List(t.Context(), kv.Of(kv.Commands, "audit"))
		if err != nil || len(lists[0]) > 400 {
			t.Errorf("of 1000 requests the audit log has %d, %v", len(lists[0]), err)
		}
	})
}

// A long queue keeps nobody from what is known.
func TestQueueDoesNotHoldUpReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		s.mustDo(t, commands.Command{Kind: commands.Pause, Job: "job", By: "ann", Reason: "try it"})
		for n := range 20 {
			queue(t, m, trigger(fmt.Sprint(n)))
		}
		m.Fault = func(ctx context.Context, c kvtest.Call) error {
			if c.Answered {
				return nil
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if all, err := s.Open(ctx); err != nil || len(all.Pauses) != 1 || len(all.Requests) == 0 {
			t.Errorf("Open = %+v, %v", all, err)
		}
	})
}

// A reading takes a bounded part of the queue, and each request has its turn: behind many of others,
// behind those that cannot be read, and while others are added in front of it.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		for n := range 3 * takeMost {
			queue(t, m, trigger(fmt.Sprintf("b%04d", n)))
		}
		_, stamp, err := m.Read(t.Context(), key("queue", ""))
		if err != nil {
			t.Fatal(err)
		}
		bad := kv.Txn{Incarnation: stamp.Incarnation}
		for n := range takeMost {
			bad.Put = append(bad.Put, kv.Write{Key: key("queue", fmt.Sprintf("a%04d", n)), Value: json.RawMessage(`{"within":"x"}`)})
		}
		if o, err := m.Commit(t.Context(), bad); err != nil || !o.Won {
			t.Fatalf("Commit = %+v, %v", o, err)
		}
		queue(t, m, trigger("z"))
		s := New(m)
		for n := range 5 {
			had, err := s.Queued(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left, err := s.Queued(t.Context()); err != nil || left < had-takeMost || left == had {
				t.Errorf("reading %d leaves %d of %d, %v", n, left, had, err)
			}
			for k := range takeMost {
				queue(t, m, trigger(fmt.Sprintf("a%d-%04d", n, k)))
			}
		}
		if list, _, err := m.Read(t.Context(), key("act", "z"), key("queue", "z")); err != nil || list[0].Version == 0 || list[1].Version != 0 {
			t.Errorf("the last one: %+v, %v", list, err)
		}
	})
}
