package claims_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// A world is a store that loses what a test wants it to lose, and a replica.
type world struct {
	testing.TB
	m     *kvtest.Memory
	l     *claims.Locker
	epoch time.Time
	grace time.Duration // for which nothing is granted in another incarnation

	mu    sync.Mutex
	calls []kvtest.Call
	fault func(c kvtest.Call) error // nil: none
}

// inWorld runs a test in virtual time, on a store with a clock and on one without.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, clockless := range []bool{false, true} {
		t.Run(map[bool]string{false: "clock", true: "clockless"}[clockless], func(t *testing.T) { inWorldOf(t, clockless, test) })
	}
}

func inWorldOf(t *testing.T, clockless bool, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, m: newStore(t, clockless), epoch: time.Now(), grace: grace}
		if clockless {
			w.grace += grace / 2 // others' clocks may be ahead
		}
		w.m.Fault = func(ctx context.Context, c kvtest.Call) error {
			if ctx.Value(late{}) != nil {
				return nil
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if !c.Answered {
				w.calls = append(w.calls, c)
			}
			if w.fault == nil {
				return nil
			}
			return w.fault(c)
		}
		w.l = w.replica()
		test(w)
		_ = w.l.Close()
	})
}

func (w *world) replica() *claims.Locker {
	w.Helper()
	return open(w, w.m)
}

// faults sets the fault of calls from now on.
func (w *world) faults(f func(c kvtest.Call) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// methods returns the calls since it was last called.
func (w *world) methods() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		list = append(list, c.Method)
	}
	w.calls = nil
	return list
}

var errCut = errors.New("cut off")

// firstCommit loses the first commit, before or after it is done.
func firstCommit(answer bool) func(kvtest.Call) error {
	lost := false
	return func(c kvtest.Call) error {
		if c.Method != "Commit" || c.Answered != answer || lost {
			return nil
		}
		lost = true
		return errCut
	}
}

// always loses every call.
func always(kvtest.Call) error { return errCut }

// delayed makes f, whose first commit is lost on the way and all others, too. It returns a
// function that lets the first one arrive.
func (w *world) delayed(f func()) (arrive func() bool) {
	w.Helper()
	var txn *kv.Txn
	w.faults(func(c kvtest.Call) error {
		if c.Method != "Commit" {
			return nil
		}
		if txn == nil {
			txn = &c.Txn
		}
		return errCut
	})
	f()
	w.faults(nil)
	if txn == nil {
		w.Fatal("nothing was committed")
	}
	return func() bool { return w.arrives(*txn) }
}

// late marks the context of a call without faults.
type late struct{}

// arrives commits t, whatever has become of its sender.
func (w *world) arrives(t kv.Txn) bool {
	w.Helper()
	o, err := w.m.Commit(context.WithValue(w.Context(), late{}, true), t)
	if err != nil {
		w.Fatal(err)
	}
	return o.Won
}

// tick is a request for the n-th tick of a job.
func (w *world) tick(n int) locking.Request {
	return locking.Request{Name: "job", Tick: w.epoch.Add(time.Duration(n) * time.Second), Holder: "a", Note: []byte(`{"v":2}`)}
}

// later is a request for the n-th tick after the grace of an incarnation that began with the test.
func (w *world) later(n int) locking.Request { return w.tick(int(w.grace/time.Second) + n) }

func beside(r locking.Request) locking.Request {
	r.Beside = true
	return r
}

func again(r locking.Request) locking.Request {
	r.Mode = locking.AtLeastOnce
	return r
}

func (w *world) acquire(r locking.Request) locking.Lease {
	w.Helper()
	lease, err := w.l.TryAcquire(w.Context(), r)
	if err != nil {
		w.Fatalf("TryAcquire = %v", err)
	}
	return lease
}

func (w *world) refused(r locking.Request, reason error) *locking.AcquireError {
	w.Helper()
	_, err := w.l.TryAcquire(w.Context(), r)
	why, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || !errors.Is(err, reason) {
		w.Fatalf("TryAcquire = %v, want %v", err, reason)
	}
	return why
}

func (w *world) release(l locking.Lease) {
	w.Helper()
	if err := l.Release(w.Context(), []byte(`{"v":2}`)); err != nil {
		w.Fatalf("Release = %v", err)
	}
}

func (w *world) extends(l locking.Lease) {
	w.Helper()
	if err := l.Extend(w.Context()); err != nil {
		w.Errorf("Extend = %v", err)
	}
}

func (w *world) wants(what string, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s = %v, want %v", what, err, want)
	}
}

// larger reports a token that is not above that of an earlier claim.
func (w *world) larger(earlier, later locking.Lease) {
	w.Helper()
	if a, b := earlier.Claim().Token, later.Claim().Token; b <= a {
		w.Errorf("token %d after %d", b, a)
	}
}

// expire waits until leases that are not extended have ended, in listings as well. As a
// replica's heartbeats do, it observes them first.
func (w *world) expire() {
	w.Helper()
	w.ages(ttl + w.grace - grace + time.Second)
}

// ages lets time pass after the leases were observed.
func (w *world) ages(d time.Duration) {
	w.Helper()
	if err := w.l.Observe(context.WithValue(w.Context(), late{}, true)); err != nil {
		w.Fatal(err)
	}
	time.Sleep(d)
}

// stored returns the records of a kind.
func (w *world) stored(k kv.Kind) []kv.Record {
	w.Helper()
	lists, _, err := w.m.List(w.Context(), kv.All(k))
	if err != nil {
		w.Fatal(err)
	}
	return lists[0]
}

// entry returns the entry of a claim.
func (w *world) entry(c locking.Claim) records.Entry {
	w.Helper()
	e := records.Entry{Stream: locking.Request{Stream: c.Stream}.InStream(), Tick: c.Tick.UnixMilli(), Token: uint64(c.Token)}
	list, _, err := w.m.Read(w.Context(), records.EntryKey(c.Name, e))
	if err != nil {
		w.Fatal(err)
	}
	got, err := records.Decode[records.Entry](list[0])
	if err != nil {
		w.Fatal(err)
	}
	return got
}
