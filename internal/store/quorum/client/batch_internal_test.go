package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// perhaps is a rule that appends to its key, answers with what that holds then,
// and fails in the ways that rules can.
var perhaps = NewRule("perhaps", "local nowtext, floor = '0', 7\n", `
if arg(1) == 'call' then redis.call('GET') end
if arg(1) == 'raise' then error('on purpose') end
if arg(1) == 'error' then return {err = 'BROKEN on purpose'} end
if arg(1) == 'odd' then return {} end
if arg(1) == 'read' then return {'OK', nowtext} end
redis.call('SET', key(2), (redis.call('GET', key(2)) or '') .. arg(1))
return {'OK', nowtext, redis.call('GET', key(2)), num(nargs), arg(2) or 'none', tostring(KEYS[1])}`)

// onEvery runs f with a Link to a real server, and to an embedded one.
func onEvery(t *testing.T, f func(t *testing.T, l *Link)) {
	t.Helper()
	open := func(t *testing.T, url string, cfg Config) *Link {
		u, err := ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Timeout = 3 * time.Second
		l := NewLink("a", u, cfg)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, open(t, redistest.Start(t).URL(), Config{}))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		m := redistest.MiniN(t, 1)
		f(t, open(t, m.URLs()[0], Config{Dial: m.Dial}))
	})
}

// together sends calls in one request, each with the key x and its own arguments.
func together(l *Link, script *Script, calls ...[]any) []Answer {
	lane := &lane{client: l.transport.(*client), script: script}
	answers := make([]Answer, len(calls))
	batch := make([]*call, len(calls))
	for i, own := range calls {
		done := func(a Answer) { answers[i] = a }
		batch[i] = &call{header: &Header{Key: "node"}, fan: &Fan{}, lane: lane, keys: NewKeys([]string{"x"}), args: own, done: done}
		for j := range batch[i].header.Args {
			batch[i].header.Args[j] = j
		}
	}
	lane.send(batch, nil)
	return answers
}

// One request runs its calls in order; each has its own keys and arguments, its
// own answer, and its own failure.
func TestBatchOnNodes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, l *Link) {
		got := together(l, perhaps,
			[]any{"a"}, []any{"call"}, []any{"serve", 7}, []any{"raise", 1}, []any{"error"}, []any{"odd"}, []any{"serve"}, []any{"b", ""})
		want := []string{
			"a 1 none", "ERR ", "aserve 2 7", "ERR on purpose", "ERR BROKEN on purpose", "ERR answered",
			"aserveserve 1 none", "aserveserveb 2 ",
		}
		for i, a := range got {
			words, fails := strings.CutPrefix(want[i], "ERR ")
			_, answered := errors.AsType[*ServerError](a.Err)
			switch {
			case fails && (!answered || !strings.Contains(a.Err.Error(), words)):
				t.Errorf("call %d: %v, want an answer of the server with %q", i, a.Err, words)
			case !fails && (a.Err != nil || strings.Join(a.Words[2:6], " ") != "7 "+words || a.Words[6] != "node"):
				t.Errorf("call %d: %q, %v, want %q", i, a.Words, a.Err, words)
			}
		}
	})
}

// What comes before the rule may answer all calls, and then no rule runs.
func TestBatchIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	refused := NewRule("refused", "if KEYS[1] == 'node' then return {'NO', '0'} end local nowtext, floor = '0', 1\n", "redis.call('SET', key(2), '1') return {'OK', nowtext}")
	onEvery(t, func(t *testing.T, l *Link) {
		for _, a := range together(l, refused, []any{"a"}, []any{"b"}) {
			if a.Err != nil || a.Words[0] != "NO" {
				t.Errorf("%q, %v", a.Words, a.Err)
			}
		}
		if a := together(l, perhaps, []any{"b"}, []any{"c"})[0]; a.Err != nil || a.Words[3] != "b" {
			t.Errorf("a rule ran: %q, %v", a.Words, a.Err)
		}
	})
}

// A node that is out of memory answers each call of a request for itself.
func TestBatchOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	u, err := ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := NewLink("a", u, Config{Timeout: 3 * time.Second})
	defer l.Close()
	server.Client().ConfigSet(t.Context(), "maxmemory", "1")
	got := together(l, perhaps, []any{"read"}, []any{"write"}, []any{"read"})
	for i, oom := range []bool{false, true, false} {
		var answer *ServerError
		if is := errors.As(got[i].Err, &answer) && answer.Code == "OOM"; is != oom || !oom && got[i].Err != nil {
			t.Errorf("call %d: %v", i, got[i].Err)
		}
	}
}
