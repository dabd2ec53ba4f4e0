package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

var errLost = errors.New("lost")

// losing returns commands whose n-th commit is lost, before or after it is done.
func losing(n int, answered bool) (*kvtest.Memory, *Store) {
	m, commits := new(kvtest.Memory), 0
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if c.Method != "Commit" || c.Answered != answered {
			return nil
		}
		if commits++; commits == n {
			return errLost
		}
		return nil
	}
	return m, open(m)
}

// A lost request, or a lost answer to what was done, makes each command once.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		for n := range 4 {
			synctest.Test(t, func(t *testing.T) {
				m, s := losing(n+1, answered)
				command := s.mustDo(t, trigger("t"))
				if got := s.mustOpen(t).Requests; len(got) != 1 || !got[0].At.Equal(command.At) {
					t.Errorf("open are %+v, want %+v", got, command)
				}
				p := commands.Command{ID: "p", Kind: commands.Pause, Job: "job", By: "ann", Reason: "broken"}
				s.mustDo(t, p)
				if err := s.Close(t.Context(), "t", "succeeded"); err != nil {
					t.Fatal(err)
				}
				if err := s.Note(t.Context(), commands.Command{Kind: commands.Release, Result: "taken"}); err != nil {
					t.Fatal(err)
				}
				if got := stored(t, m); got["act"] != 2 || got["audit"] != 3 || got["open"] != 0 || got["pause"] != 1 {
					t.Errorf("commit %d was lost (answered: %t), stored are %v", n, answered, got)
				}
			})
		}
	}
}

// Nothing answers: every method says so, and Do does not say that nothing was done.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	m := new(kvtest.Memory)
	s := open(m)
	silent, loss := "", errLost
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if silent == "" || c.Method == silent {
			return loss
		}
		return nil
	}
	_, do := s.Do(t.Context(), trigger("t"))
	_, opened := s.Open(t.Context())
	_, audit := s.Audit(t.Context(), 1)
	for what, err := range map[string]error{
		"Do": do, "Open": opened, "Audit": audit, "Close": s.Close(t.Context(), "t", "done"), "Note": s.Note(t.Context(), trigger("t")),
	} {
		if !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("%s = %v, want ErrNoQuorum", what, err)
		}
	}
	silent, loss = "Commit", kv.ErrNotSent
	if _, err := s.Do(t.Context(), trigger("t")); !errors.Is(err, locking.ErrNoQuorum) || strings.Contains(err.Error(), "may still be done") {
		t.Errorf("Do without a connection = %v, want %v, and nothing that may still be done", err, locking.ErrNoQuorum)
	}
	loss = errLost
	if _, err := s.Do(t.Context(), trigger("t")); !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "may still be done") {
		t.Errorf("Do without an answer to commits = %v", err)
	}
	m.Fault = nil
	s.wantOpen(t, "after requests that were lost")
}

// late holds back the first commit until release is called. Its sender gets an error at once.
func late(m *kvtest.Memory) (release func()) {
	var held []kv.Txn
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if c.Method != "Commit" || c.Answered || len(held) > 0 {
			return nil
		}
		held = append(held, c.Txn)
		return errLost
	}
	return func() { _, _ = m.Commit(context.Background(), held[0]) }
}

// A commit that arrives late, after it was repeated, changes nothing.
func TestLateCommitOfTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s, release := open(m), late(m)
		command := s.mustDo(t, trigger("t"))
		release()
		if got := s.mustOpen(t).Requests; len(got) != 1 || !got[0].At.Equal(command.At) {
			t.Errorf("open are %+v, want %+v", got, command)
		}
		if err := s.Close(t.Context(), "t", "succeeded"); err != nil {
			t.Fatal(err)
		}
		release()
		s.wantOpen(t, "after it was closed")
	})
}

// A commit arrives late, after its ID was given to a command of another job.
func TestLateCommitOfAnUsedID(t *testing.T) {
	t.Parallel()
	m := new(kvtest.Memory)
	s := open(m)
	var held []kv.Txn
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if c.Method != "Commit" || len(held) > 0 {
			return nil
		}
		held = append(held, c.Txn)
		other := trigger("t")
		other.Job = "other"
		s.mustDo(t, other)
		return nil
	}
	if _, err := s.Do(t.Context(), trigger("t")); !errors.As(err, new(*commands.ReusedIDError)) {
		t.Errorf("Do with an ID that is given to another command meanwhile = %v", err)
	}
	if got := s.mustOpen(t).Requests; len(got) != 1 || got[0].Job != "other" {
		t.Errorf("open are %+v", got)
	}
}

// A commit whose sender has given up arrives after a later request of the job: that one may
// have run, so the earlier one must not appear before it.
func TestLateCommitOfAnEarlier(t *testing.T) {
	t.Parallel()
	for _, between := range []string{"", "a request"} {
		synctest.Test(t, func(t *testing.T) {
			m := new(kvtest.Memory)
			s := open(m)
			s.mustDo(t, trigger("done"))
			if err := s.Close(t.Context(), "done", "succeeded"); err != nil {
				t.Fatal(err)
			}
			release := late(m)
			ctx, cancel := context.WithCancel(t.Context())
			deliver := m.Fault
			m.Fault = func(ctx context.Context, c kvtest.Call) error {
				err := deliver(ctx, c)
				if err != nil {
					cancel()
				}
				return err
			}
			if _, err := s.Do(ctx, trigger("first")); !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, context.Canceled) {
				t.Errorf("Do = %v", err)
			}
			want := []string{"first"}
			if between != "" {
				s.mustDo(t, trigger("second"))
				want = []string{"second"}
			}
			time.Sleep(time.Second)
			release()
			s.wantOpen(t, "after "+between, want...)
			s.mustDo(t, trigger("first"))
			if between != "" {
				want = append(want, "first")
			}
			s.wantOpen(t, "asked again after "+between, want...)
		})
	}
}

// A reader that sees a request has seen all earlier ones of the job, also while answers are
// lost.
func TestOrderUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		var mu sync.Mutex
		calls := 0
		m.Fault = func(context.Context, kvtest.Call) error {
			mu.Lock()
			calls++
			lost := calls%7 == 0
			pause := time.Duration(calls%5) * time.Millisecond
			mu.Unlock()
			time.Sleep(pause)
			if lost {
				return errLost
			}
			return nil
		}
		var asking sync.WaitGroup
		done := make(chan struct{})
		for r := range 4 {
			asking.Go(func() {
				for n := range 7 {
					for range 20 { // as the engine does
						if _, err := s.Do(t.Context(), trigger(fmt.Sprint("t", r, "-", n))); err == nil {
							break
						}
					}
				}
			})
		}
		var seen []commands.Command
		asking.Go(func() { seen = watch(t, s, done) })
		time.Sleep(time.Minute)
		close(done)
		asking.Wait()
		if len(seen) != 28 {
			t.Errorf("%d requests were seen, want 28", len(seen))
		}
	})
}

// watch reads until done, and wants no request to appear before one that was seen.
func watch(t *testing.T, s *Store, done <-chan struct{}) (seen []commands.Command) {
	for {
		select {
		case <-done:
			return seen
		case <-time.After(time.Millisecond):
		}
		all, err := s.Open(t.Context())
		if err != nil {
			continue
		}
		for i, a := range all.Requests {
			if i < len(seen) && seen[i].ID != a.ID {
				t.Errorf("%s appeared before %s", a.ID, seen[i].ID)
			}
		}
		seen = all.Requests
	}
}

// In the next incarnation of the store commands continue from what it has.
func TestAnotherIncarnation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		s.mustDo(t, trigger("first"))
		b := m.Backup()
		s.mustDo(t, trigger("lost"))
		var once sync.Once
		m.Fault = func(_ context.Context, c kvtest.Call) error {
			if c.Method == "Commit" {
				once.Do(func() { m.Restore(b) })
			}
			return nil
		}
		s.mustDo(t, trigger("second"))
		s.wantOpen(t, "then", "first", "second")
	})
}

// An idle replica sends one statement for each reading.
func TestReadingIsOneCall(t *testing.T) {
	t.Parallel()
	m := new(kvtest.Memory)
	s := open(m)
	s.mustDo(t, trigger("t"))
	calls := 0
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if !c.Answered {
			calls++
		}
		return nil
	}
	s.mustOpen(t)
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// A change that the store does not answer ends with its context, also between two tries.
func TestChangeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(&kvtest.Memory{Fault: func(_ context.Context, c kvtest.Call) error {
			if c.Method == "Commit" {
				return errLost
			}
			return nil
		}})
		for n := range 20 {
			limit := time.Duration(5*n+5) * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			begun := time.Now()
			_, err := s.Do(ctx, trigger(fmt.Sprint(n)))
			if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != limit {
				t.Errorf("Do with %v = %v, after %v", limit, err, took)
			}
			cancel()
		}
	})
}
