package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	laneTimeout  = 200 * time.Millisecond
	lanePatience = 5 * laneTimeout
)

// A desk stands for a node: requests arrive there and wait for their answers.
type desk struct {
	client *client
	script *Script
	mu     sync.Mutex
	asked  []string // the requests, as "one a" or "many a b c"
	answer chan any // per request: an error, or nil to echo
}

func newDesk() *desk {
	d := &desk{script: NewRule("any", "", ""), answer: make(chan any)}
	d.client = newClient(newServer(Config{Timeout: laneTimeout}, URL{Addr: "127.0.0.1:1"}), Config{Timeout: laneTimeout, Patience: lanePatience})
	d.client.run = d.serve
	return d
}

// serve answers each call of a request with its key and argument; one whose
// argument is "bad" fails.
func (d *desk) serve(ctx context.Context, p *redis.Script, _, n int, sent []any) (any, error) {
	keys, args := sent[evalshaWords:evalshaWords+n], sent[evalshaWords+n:]
	words := []any{"one"}
	var replies []any
	if p == d.script.many {
		words[0] = "many"
		for i, at := 1, len(Header{}.Args); at < len(args); i, at = i+1, at+3 {
			replies = append(replies, inBatch(keys[i].(string), args[at+2])...)
			words = append(words, args[at+2])
		}
	} else {
		words = append(words, args[len(Header{}.Args)])
	}
	d.mu.Lock()
	d.asked = append(d.asked, strings.TrimSpace(fmt.Sprintln(words...)))
	d.mu.Unlock()
	select {
	case v := <-d.answer:
		if err, ok := v.(error); ok {
			return nil, err
		}
		if v != nil {
			return v, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p == d.script.one {
		return reply(keys[1].(string), args[len(Header{}.Args)]), nil
	}
	return append([]any{int64(len(words) - 1), "1", "2"}, replies...), nil
}

// reply is one that bears the clock 1 and the floor 2.
func reply(key string, arg any) any { return []any{key, "1", "2", arg} }

// inBatch is the same as a part of the reply to many, see many.lua.
func inBatch(key string, arg any) []any {
	if arg == "bad" {
		return []any{int64(0), "ERR bad"}
	}
	return []any{int64(2), key, arg}
}

// send makes a call, and returns where its outcome will be.
func (d *desk) send(arg string, epoch int64) <-chan string {
	out := make(chan string, 1)
	header := &Header{Key: "q:node", Args: [...]any{fmt.Sprint("a hash ", epoch, " 20000 1"), 20000, "", 15000}}
	q := &call{fan: &Fan{}, header: header, keys: NewKeys([]string{"q:" + arg}), args: []any{arg}, done: func(a Answer) {
		if a.Err != nil {
			out <- a.Err.Error()
			return
		}
		out <- fmt.Sprint(a.Words)
	}}
	d.client.enter(d.script, q)
	synctest.Wait()
	return out
}

// busy makes calls that go out alone, as many as there may be at once.
func (d *desk) busy() {
	for i := range laneWidth {
		d.send(fmt.Sprint("busy", i), 0)
	}
}

func (d *desk) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := d.asked[min(laneWidth, len(d.asked)):]; strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("requests after the first %d: %q, want %q", laneWidth, got, want)
	}
}

func wantAll(t *testing.T, got []<-chan string, want ...string) {
	t.Helper()
	for i, c := range got {
		select {
		case text := <-c:
			if text != want[i] {
				t.Errorf("call %d: %q, want %q", i, text, want[i])
			}
		default:
			t.Errorf("call %d: no answer, want %q", i, want[i])
		}
	}
}

func inLane(t *testing.T, f func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		f(t, d)
		if err := d.client.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Calls wait only while requests are under way; then they go out together, in
// order, and each gets its own answer, or its own error.
func TestCallsShareARequest(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		var got []<-chan string
		for _, arg := range []string{"a", "b", "bad", "c"} {
			got = append(got, d.send(arg, 0))
		}
		d.wantAsked(t)
		d.answer <- nil
		d.wantAsked(t, "many a b bad c")
		d.answer <- nil // the other of the first
		d.answer <- nil
		synctest.Wait()
		wantAll(t, got, "[q:a 1 2 a]", "[q:b 1 2 b]", "ERR bad", "[q:c 1 2 c]")
		got = append(got[:0], d.send("d", 0))
		d.answer <- nil
		synctest.Wait()
		wantAll(t, got, "[q:d 1 2 d]")
		d.wantAsked(t, "many a b bad c", "one d")
	})
}

// A word for all is what the checks before the rule say.
func TestRefusalIsForAll(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		got := []<-chan string{d.send("a", 0), d.send("b", 0)}
		d.answer <- nil
		d.answer <- nil
		d.answer <- []any{"BLANK", "1"}
		synctest.Wait()
		wantAll(t, got, "[BLANK 1]", "[BLANK 1]")
	})
}

func TestTooFewAnswers(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		few := oddReply("1 of 2 calls").Error()
		for _, c := range []struct {
			answer []any
			want   [2]string
		}{
			{[]any{int64(1), "1", "2", int64(1), "OK"}, [2]string{"[OK 1 2]", few}},
			{[]any{int64(1)}, [2]string{few, few}},
			{[]any{int64(1), "1", "2", int64(1)}, [2]string{oddReply("1").Error(), few}},
			{[]any{int64(1), "1", "2", int64(-1)}, [2]string{oddReply("too little").Error(), few}},
			{[]any{int64(1), "1", "2", int64(0)}, [2]string{oddReply("0").Error(), few}},
			{[]any{int64(1), "1", "2", int64(7), "OK"}, [2]string{oddReply("7").Error(), few}},
			{[]any{int64(1), "1", "2", "OK", "OK"}, [2]string{oddReply("OK").Error(), few}},
		} {
			d.busy()
			got := []<-chan string{d.send("a", 0), d.send("b", 0)}
			d.answer <- nil
			d.answer <- nil
			d.answer <- c.answer
			synctest.Wait()
			wantAll(t, got, c.want[:]...)
		}
	})
}

// Only calls of one header go together: the epoch may have changed meanwhile.
func TestHeadersDoNotMix(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		d.send("a", 0)
		d.send("b", 0)
		d.send("c", 1)
		d.answer <- nil
		d.answer <- nil
		d.wantAsked(t, "many a b", "one c")
	})
}

func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		for range batchCalls + 1 {
			d.send("a", 0)
		}
		d.answer <- nil
		d.wantAsked(t, "many"+strings.Repeat(" a", batchCalls))
		d.answer <- nil
		d.answer <- nil
		d.answer <- nil
	})
}

// Whoever has waited for half a timeout is not sent any more: the node would
// have too little time to answer, and would look silent.
func TestLongWaitIsNotSent(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		got := []<-chan string{d.send("a", 0)}
		time.Sleep(laneTimeout/2 + 1)
		got = append(got, d.send("b", 0))
		d.answer <- nil
		d.wantAsked(t, "one b")
		wantAll(t, got[:1], errUnsent.Error())
		d.answer <- nil
		d.answer <- nil
		synctest.Wait()
		wantAll(t, got[1:], "[q:b 1 2 b]")
	})
}

// A connection that breaks at once says nothing of those who wait.
func TestBrokenRequestLeavesTheQueue(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		got := []<-chan string{d.send("a", 0)}
		d.answer <- errors.New("broken")
		d.wantAsked(t, "one a")
		d.answer <- nil
		d.answer <- nil
		synctest.Wait()
		wantAll(t, got, "[q:a 1 2 a]")
	})
}

// Behind a request that a frozen node leaves unanswered nobody waits for another
// timeout, and nothing more is sent.
func TestFrozenNodeFailsTheQueue(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		time.Sleep(laneTimeout - time.Millisecond)
		got := []<-chan string{d.send("a", 0), d.send("b", 0)}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		want := errUnsent.Error() + ": " + context.DeadlineExceeded.Error()
		wantAll(t, got, want, want)
		d.wantAsked(t)
	})
}

// A request has a timeout of its own, from when it was sent.
func TestRequestHasItsOwnTimeout(t *testing.T) {
	t.Parallel()
	inLane(t, func(t *testing.T, d *desk) {
		d.busy()
		got := []<-chan string{d.send("a", 0), d.send("b", 0)}
		time.Sleep(laneTimeout / 4)
		d.answer <- nil
		d.answer <- nil
		d.wantAsked(t, "many a b")
		time.Sleep(laneTimeout)
		synctest.Wait()
		wantAll(t, got, context.DeadlineExceeded.Error(), context.DeadlineExceeded.Error())
	})
}

func TestCloseEndsTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.busy()
		got := []<-chan string{d.send("a", 0)}
		closed := make(chan error, 1)
		go func() { closed <- d.client.Close() }()
		synctest.Wait()
		wantAll(t, got, redis.ErrClosed.Error())
		got[0] = d.send("b", 0)
		wantAll(t, got, redis.ErrClosed.Error())
		d.answer <- nil
		d.answer <- nil
		if err := <-closed; err != nil {
			t.Error(err)
		}
		d.wantAsked(t)
	})
}
