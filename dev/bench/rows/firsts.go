package rows

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
)

// A firsts notes when jobs that are due at one instant start for the first time.
type firsts struct {
	at time.Time

	mu    sync.Mutex
	seen  map[string]bool
	calls int
	last  time.Time // first start
}

func newFirsts(at time.Time) *firsts { return &firsts{at: at, seen: map[string]bool{}, last: at} }

func (f *firsts) start(job string) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if !f.seen[job] {
		f.seen[job], f.last = true, now
	}
}

func (f *firsts) handler(job string) jobs.Handler {
	return func(context.Context, jobs.Run) error {
		f.start(job)
		return nil
	}
}

// state returns how many jobs have started, how often all together, and when
// the last of them did.
func (f *firsts) state() (started, calls int, last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen), f.calls, f.last
}

// wait returns how long it took until the last job started: all of them, or as
// many as do before nothing starts any more.
func (f *firsts) wait(ctx context.Context, e Env, t *tally) (float64, error) {
	limit := f.at.Add(patience)
	for {
		if err := sleep(ctx, time.Now().Add(20*time.Millisecond)); err != nil {
			return 0, err
		}
		started, calls, last := f.state()
		idle := started > 0 && time.Since(last) > quiet
		if started == t.jobs && time.Since(last) > quiet/6 || idle || time.Now().After(limit) {
			t.add(started, calls)
			e.Told("           %d of %d started, %d calls", started, t.jobs, calls)
			return last.Sub(f.at).Seconds(), nil
		}
	}
}

// A tally adds up how many jobs never started, and how many more than once.
type tally struct {
	jobs, rounds, never, again int
}

func (t *tally) add(started, calls int) {
	t.rounds++
	t.never += t.jobs - started
	t.again += calls - started
}

// String says it, all rounds together.
func (t *tally) String() string {
	return fmt.Sprintf("of %d jobs %d never started, and there were %d extra starts", t.rounds*t.jobs, t.never, t.again)
}
