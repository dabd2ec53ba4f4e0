package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A fake is a server that takes a while for each group.
type fake struct {
	*Queue[string, string]
	takes time.Duration
	// connects is how long it takes to get a connection, and refuses why there is none.
	connects time.Duration
	refuses  error
	short    bool // it has too few places for more than ten keys

	mu       sync.Mutex
	sent     []string // the groups, with when they were sent
	underWay int
	most     int
	ended    int // groups whose context had ended
}

func newFake(takes time.Duration) *fake {
	f := &fake{takes: takes}
	begun := time.Now()
	send := func(ctx context.Context, group []*Member[string, string]) bool {
		if len(group) == 0 {
			return false
		}
		f.mu.Lock()
		var asks []string
		keys := map[kv.Key]bool{}
		for _, m := range group {
			asks = append(asks, m.Ask)
			for _, k := range m.Keys {
				keys[k] = true
			}
		}
		f.sent = append(f.sent, fmt.Sprintf("%d:%s", time.Since(begun).Milliseconds(), strings.Join(asks, "")))
		f.underWay++
		f.most = max(f.most, f.underWay)
		f.mu.Unlock()
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.underWay--
		if ctx.Err() != nil {
			f.ended++
			for _, m := range group {
				m.Err = ctx.Err()
			}
			return false
		}
		short := f.short && len(keys) > 10
		for _, m := range group {
			if m.Alone = short; !short {
				m.Answer = "re " + m.Ask
			}
		}
		return short
	}
	f.Queue = &Queue[string, string]{
		Least: 10 * time.Millisecond, Connects: time.Minute, Unsent: func(err error) error { return err },
		Connect: func(ctx context.Context) (func(context.Context, []*Member[string, string]) bool, error) {
			select {
			case <-time.After(f.connects):
			case <-ctx.Done():
				return send, ctx.Err()
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			return send, f.refuses
		},
	}
	return f
}

// A said is what became of a call.
type said struct {
	answer string
	alone  bool
	err    error
	after  time.Duration
}

func (f *fake) call(ctx context.Context, ask string, u kv.Urgency, keys ...string) said {
	m := &Member[string, string]{Ctx: ctx, Ask: ask, Urgency: u}
	for _, k := range append(keys, ask) {
		m.Keys = append(m.Keys, kv.Key{Kind: kv.Claims, Name: k})
	}
	begun := time.Now()
	alone, err := f.Do(m)
	s := said{alone: alone, err: err, after: time.Since(begun)}
	if err == nil { // else its group may go on, and answer
		s.answer = m.Answer
	}
	return s
}

// all makes the calls at once, in that order.
func (f *fake) all(t *testing.T, u kv.Urgency, asks string) (wait func() []said) {
	t.Helper()
	list, done := make([]said, len(asks)), sync.WaitGroup{}
	for i, ask := range strings.Split(asks, "") {
		done.Go(func() { list[i] = f.call(t.Context(), ask, u) })
		synctest.Wait()
	}
	return func() []said { done.Wait(); return list }
}

// Nobody waits for company, no more than two groups are under way, and none takes a member after it
// was sent.
func TestGroupsAreOfThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		first := f.all(t, kv.CanWait, "abcd")
		time.Sleep(5 * time.Millisecond)
		second := f.all(t, kv.CanWait, "ef")
		for _, s := range append(first(), second()...) {
			if !strings.HasPrefix(s.answer, "re ") || s.alone || s.err != nil {
				t.Errorf("a call got %+v", s)
			}
		}
		f.Close()
		if want := []string{"0:a", "0:b", "10:cdef"}; !slices.Equal(f.sent, want) || f.most != 2 {
			t.Errorf("sent %q, %d at a time; want %q", f.sent, f.most, want)
		}
	})
}

// Behind many claims, extensions go first, and then ends of runs.
func TestUrgentCallsGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		var done sync.WaitGroup
		for n := range 10_000 {
			done.Go(func() { f.call(t.Context(), fmt.Sprint("c", n, " "), kv.CanWait) })
		}
		synctest.Wait()
		end, extension := f.all(t, kv.EndsRun, "y"), f.all(t, kv.Extends, "x")
		if s := slices.Concat(end(), extension()); s[0].after > 20*time.Millisecond || s[1].after > 20*time.Millisecond {
			t.Errorf("behind claims they took %v and %v", s[0].after, s[1].after)
		}
		done.Wait()
		f.Close()
		if !strings.Contains(f.sent[2], ":xyc") {
			t.Errorf("the next group was %.40q", f.sent[2])
		}
	})
}

// The end of a context ends the call at once, and no other. What was not sent is known.
func TestContextsOfMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		others := f.all(t, kv.CanWait, "a")
		calls := map[string]struct {
			ends time.Duration
			sent bool
		}{"b": {100 * time.Millisecond, true}, "c": {50 * time.Millisecond, false}}
		var done sync.WaitGroup
		for _, ask := range []string{"b", "c"} {
			done.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), calls[ask].ends)
				defer cancel()
				s := f.call(ctx, ask, kv.CanWait)
				if known := errors.As(s.err, &Unsent{}); !errors.Is(s.err, context.DeadlineExceeded) || known == calls[ask].sent || s.after != calls[ask].ends {
					t.Errorf("%s: %+v", ask, s)
				}
			})
			synctest.Wait()
		}
		done.Wait()
		if s := others()[0]; s.answer != "re a" {
			t.Errorf("the other one got %+v", s)
		}
		f.Close()
		if want := []string{"0:a", "0:b"}; !slices.Equal(f.sent, want) || f.ended != 1 {
			t.Errorf("sent %q, want %q; %d contexts had ended, want that of b alone", f.sent, want, f.ended)
		}
	})
}

// Who waits for a connection still may go, and others may come. Without one, all are told why.
func TestGroupsWaitForConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		f.connects = time.Second
		first, second := f.all(t, kv.CanWait, "ab"), f.all(t, kv.CanWait, "cd")
		time.Sleep(1500 * time.Millisecond)
		third := f.all(t, kv.CanWait, "e")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if s := f.call(ctx, "f", kv.CanWait); !errors.As(s.err, &Unsent{}) || s.after != time.Millisecond {
			t.Errorf("without a connection: %+v", s)
		}
		for _, s := range slices.Concat(first(), second(), third()) {
			if !strings.HasPrefix(s.answer, "re ") {
				t.Errorf("a call got %+v", s)
			}
		}
		f.mu.Lock()
		f.refuses = errors.New("refused")
		f.mu.Unlock()
		for _, s := range f.all(t, kv.CanWait, "xyz")() {
			if !errors.Is(s.err, f.refuses) || s.alone {
				t.Errorf("refused: %+v", s)
			}
		}
		f.Close()
		if slices.Sort(f.sent); !slices.Equal(f.sent, []string{"1000:a", "1000:b", "2010:cde"}) {
			t.Errorf("sent %q", f.sent)
		}
	})
}

// Where no connection can be had, nobody waits for one longer than a group may.
func TestConnectingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.connects, f.Queue.Connects = time.Hour, 2*time.Second
		for i, s := range f.all(t, kv.CanWait, "abc")() {
			if want := []time.Duration{2 * time.Second, 2 * time.Second, 4 * time.Second}[i]; !errors.Is(s.err, context.DeadlineExceeded) || s.after != want {
				t.Errorf("call %d: %+v, want an end after %v", i, s, want)
			}
		}
		f.Close()
	})
}

// A group that one member would leave early goes on for the others.
func TestGroupOutlivesItsMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		others := f.all(t, kv.CanWait, "ab")
		ctx, cancel := context.WithCancel(t.Context())
		var early said
		var done sync.WaitGroup
		done.Go(func() { early = f.call(ctx, "c", kv.CanWait) })
		synctest.Wait()
		last := f.all(t, kv.CanWait, "d")
		time.Sleep(1500 * time.Millisecond)
		cancel()
		done.Wait()
		if early.after != 1500*time.Millisecond || errors.As(early.err, &Unsent{}) || !errors.Is(early.err, context.Canceled) {
			t.Errorf("cancelled in flight: %+v", early)
		}
		s := last()
		others()
		f.Close()
		if s[0].answer != "re d" || f.ended > 0 {
			t.Errorf("its group went on with %+v, and %d contexts had ended", s, f.ended)
		}
	})
}

// Keys that several members have count once. Who has too many, or too little time left, goes alone.
func TestBoundsOfGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		first := f.all(t, kv.CanWait, "ab")
		var list [130]said
		var done sync.WaitGroup
		for n := range list {
			done.Go(func() { list[n] = f.call(t.Context(), fmt.Sprint("c", n, " "), kv.CanWait, "shared") })
		}
		synctest.Wait()
		many := make([]string, MostKeys)
		for n := range many {
			many[n] = fmt.Sprint("many ", n)
		}
		var large, late said
		done.Go(func() { large = f.call(t.Context(), "large", kv.CanWait, many...) })
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer cancel()
		done.Go(func() { late = f.call(ctx, "late", kv.Extends) })
		done.Wait()
		first()
		f.Close()
		if n := strings.Count(f.sent[2], "c"); n != MostKeys-1 || len(f.sent) != 4 {
			t.Errorf("%d members with a key of their own and a shared one, in %d groups", n, len(f.sent))
		}
		if !large.alone || !late.alone || late.err != nil {
			t.Errorf("with many keys: %+v; with little time: %+v; want both alone", large, late)
		}
	})
}

// Where the server has too few places for keys, groups become smaller, and then larger again.
func TestGroupsFitTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		f.short = true
		alone := 0
		for range 20 {
			var mu sync.Mutex
			var done sync.WaitGroup
			for n := range 100 {
				done.Go(func() {
					s := f.call(t.Context(), fmt.Sprint("c", n, " "), kv.CanWait)
					mu.Lock()
					defer mu.Unlock()
					if s.alone {
						alone++
					}
				})
			}
			done.Wait()
		}
		f.Close()
		if alone == 0 || alone > 1000 {
			t.Errorf("%d of 2000 went alone", alone)
		}
	})
}

// The queue is bounded.
func TestQueueOfGroupsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		under := f.all(t, kv.CanWait, "ab")
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for n := range mostWaiting {
			done.Go(func() { f.call(ctx, fmt.Sprint(n), kv.CanWait) })
		}
		synctest.Wait()
		if s := f.call(ctx, "x", kv.Extends); !errors.Is(s.err, errTooManyWait) || !errors.As(s.err, &Unsent{}) {
			t.Errorf("one more got %+v", s)
		}
		cancel()
		done.Wait()
		under()
		f.Close()
		if len(f.sent) != MostUnderWay || f.count != 0 {
			t.Errorf("%d groups were sent, %d calls are left", len(f.sent), f.count)
		}
	})
}
