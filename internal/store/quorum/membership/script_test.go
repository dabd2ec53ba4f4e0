package membership_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

func TestBlankNodeIsLeftAlone(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := open(t, b.config)
		r := call(t, s, put, "v")
		if !errors.Is(r.Err, membership.ErrBlank) || r.Code != "" {
			t.Fatalf("call on a blank node: %+v", r)
		}
		if r.NodeTime.IsZero() {
			t.Error("the reply does not tell the node's clock")
		}
		if keys := b.do(t, "KEYS", "*"); keys != "[]" {
			t.Errorf("the call left %s", keys)
		}
	})
}

func TestRuleSeesItsArguments(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		r := call(t, s, echo, "1763684460123456", 1<<53-1)
		want := []string{"{quorate}:x", "20000", "20000", "1763684460123456", "9007199254740991"}
		if r.Err != nil || r.Code != "ECHO" || strings.Join(r.Args, " ") != strings.Join(want, " ") {
			t.Errorf("got %+v, want args %q", r, want)
		}
		if r.Received.Before(r.Sent) || r.Node != s.Names()[0] {
			t.Errorf("reply says node %q, sent %v, received %v", r.Node, r.Sent, r.Received)
		}
		if r.NodeTime.Before(r.Sent.Add(-time.Millisecond)) || r.NodeTime.After(r.Received) {
			t.Errorf("the node's clock reads %v between %v and %v", r.NodeTime, r.Sent, r.Received)
		}
	})
}

func TestScriptSurvivesAFlushOfTheCache(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		for range 2 {
			if r := call(t, s, echo); r.Err != nil {
				t.Fatal(r.Err)
			}
			b.do(t, "SCRIPT", "FLUSH")
		}
	})
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, field string
		word        int // of the field that differs
		value, want string
	}{
		{"newer format", "member", 4, "3", "upgrade quorate to a release that knows format 3"},
		{"other list", "member", 1, "feed", "the node belongs to the list ["},
		{"other epoch", "member", 2, "1", "epoch 1"},
		{"other name", "member", 0, "b:6379", "knows itself as b:6379"},
		{"other grace", "member", 3, "30000", "holds restart_grace 30000ms, this replica 20s"},
		{"sealed", "sealed_for", 0, "feed", "sealed for a change to the list [feed]"},
	}
	onEvery(t, func(t *testing.T, b backend) {
		for _, c := range cases {
			b.do(t, "FLUSHALL")
			s := b.formatted(t)
			words := strings.Split(b.do(t, "HGET", "{quorate}:node", c.field), " ")
			words[c.word] = c.value
			b.do(t, "HSET", "{quorate}:node", c.field, strings.Join(words, " "))
			r := call(t, s, put, "v")
			if !errors.Is(r.Err, locking.ErrRefused) || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("%s: got error %v, want one that says %q", c.name, r.Err, c.want)
			}
			if v := b.do(t, "EXISTS", "{quorate}:x"); v != "0" {
				t.Errorf("%s: the rule ran although the node refused", c.name)
			}
		}
	})
}

func TestSealedNodeTakesFinishes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		b.do(t, "HSET", "{quorate}:node", "sealed_for", "feed")
		if r := call(t, s, put.AcceptSealed(), "v"); r.Err != nil {
			t.Errorf("a sealed node refused a finish: %v", r.Err)
		}
		if r := call(t, s, put, "v"); r.Err == nil {
			t.Error("AcceptSealed changed the script it was called on")
		}
	})
}

func TestServedNodeIsNeverDeclaredNew(t *testing.T) {
	t.Parallel()
	serve := membership.NewScript("serve", `serve() return {'OK', nowtext}`)
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatalf("Init is repeatable, but: %v", err)
		}
		if r := call(t, s, serve); r.Err != nil {
			t.Fatal(r.Err)
		}
		err := s.Init(t.Context(), false)
		if !errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), "has served") {
			t.Errorf("declared a node new that had served: %v", err)
		}
	})
}

func TestOddAnswersAreErrors(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		for _, src := range []string{`return {}`, `return {err='BROKEN on purpose'}`, `return redis.call('NOSUCH')`} {
			if r := call(t, s, membership.NewScript("odd", src)); r.Err == nil {
				t.Errorf("%s: taken for an answer: %+v", src, r)
			}
		}
		if r := call(t, s, echo); r.Err != nil {
			t.Errorf("a script's error put the node down: %v", r.Err)
		}
	})
}
