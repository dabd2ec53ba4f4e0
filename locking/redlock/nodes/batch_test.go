package nodes_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// perhaps is a rule that appends to its key, answers with what that holds then,
// and fails in the ways that rules can.
var perhaps = nodes.NewScript("perhaps", `
if arg(1) == 'call' then redis.call('GET') end
if arg(1) == 'raise' then error('on purpose') end
if arg(1) == 'error' then return {err = 'BROKEN on purpose'} end
if arg(1) == 'odd' then return {} end
if arg(1) == 'serve' then serve() end
redis.call('SET', key(2), (redis.call('GET', key(2)) or '') .. arg(1))
return {'OK', nowtext, redis.call('GET', key(2)), num(own.args), arg(2) or 'none', tostring(KEYS[1])}`).Batched()

// One request runs its calls in order; each has its own keys and arguments, its
// own answer, and its own failure.
func TestBatchOnNodes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		n := b.formatted(t).Nodes()[0]
		got := nodes.Together(t.Context(), n, perhaps, "quorate:x",
			[]any{"a"}, []any{"call"}, []any{"serve", 7}, []any{"raise", 1}, []any{"error"}, []any{"odd"}, []any{"serve"}, []any{"b", ""})
		want := []string{
			"a 1 none", "ERR ", "aserve 2 7", "ERR on purpose", "ERR BROKEN on purpose", "ERR answered",
			"aserveserve 1 none", "aserveserveb 2 ",
		}
		for i, r := range got {
			text := ""
			switch {
			case r.Err != nil:
				text = "ERR " + r.Err.Error()
				if words := strings.TrimPrefix(want[i], "ERR "); strings.Contains(text, words) {
					text = want[i]
				}
				if _, ok := errors.AsType[*nodes.ServerError](r.Err); !ok {
					t.Errorf("call %d: %v is no answer of the server", i, r.Err)
				}
			case len(r.Args) == 4:
				text = strings.Join(r.Args[:3], " ")
			}
			if text != want[i] {
				t.Errorf("call %d: %q, want %q", i, text, want[i])
			}
		}
	})
}

// What the checks before the rule refuse is refused to every call, and no rule runs.
func TestBatchIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		n := open(t, b.config).Nodes()[0]
		calls := [][]any{{"a"}, {"b"}}
		for _, r := range nodes.Together(t.Context(), n, perhaps, "quorate:x", calls...) {
			if !errors.Is(r.Err, nodes.ErrBlank) {
				t.Errorf("on a blank node: %+v", r)
			}
		}
		n = b.formatted(t).Nodes()[0]
		b.do(t, "HSET", "quorate:node", "sealed_for", "feed")
		for _, r := range nodes.Together(t.Context(), n, perhaps, "quorate:x", calls...) {
			if !errors.Is(r.Err, locking.ErrRefused) {
				t.Errorf("on a sealed node: %+v", r)
			}
		}
		if v := b.do(t, "EXISTS", "quorate:x"); v != "0" {
			t.Error("a rule ran although the node refused")
		}
	})
}

// A node that is out of memory answers each call of a request for itself.
func TestBatchOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n := realBackend(server).formatted(t).Nodes()[0]
	server.Client().ConfigSet(t.Context(), "maxmemory", "1")
	reader := nodes.NewScript("reader", `
if arg(1) == 'write' then redis.call('SET', key(2), '1') end
return {'OK', nowtext}`).Batched()
	got := nodes.Together(t.Context(), n, reader, "quorate:x", []any{"read"}, []any{"write"}, []any{"read"})
	for i, oom := range []bool{false, true, false} {
		var answer *nodes.ServerError
		if is := errors.As(got[i].Err, &answer) && answer.Code == "OOM"; is != oom || !oom && got[i].Err != nil {
			t.Errorf("call %d: %v", i, got[i].Err)
		}
	}
}

// Many callers at once hear their own answers, also when the node has forgotten
// the scripts.
func TestOwnAnswersAtOnce(t *testing.T) {
	t.Parallel()
	batched := nodes.NewScript("batched", `return {'OK', nowtext, key(2), arg(1)}`).Batched()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		for range 3 {
			b.do(t, "SCRIPT", "FLUSH")
			var wg sync.WaitGroup
			for i := range 300 {
				wg.Go(func() {
					r := s.Call(t.Context(), batched, []string{s.Key("x", fmt.Sprint(i))}, i)[0]
					if r.Err != nil || r.Arg(0) != s.Key("x", fmt.Sprint(i)) || r.Int(1) != int64(i) {
						t.Errorf("call %d was answered %q, %v", i, r.Args, r.Err)
					}
				})
			}
			wg.Wait()
		}
	})
}
