package rules_test

import (
	"reflect"
	"testing"

	"github.com/quorate/quorate/internal/rules"
)

const (
	second = 1000
	grace  = 60 * second
	ttl    = 10 * second
	start  = 1_000_000 * second // when the tests begin
	tick   = start - second     // a tick that is due
)

// token is what a try takes from a clock.
func token(ms int64) uint64 { return uint64(ms) << 20 / 1000 }

// A server is a State with the clock of its node.
type server struct {
	t *testing.T
	s rules.State
	n rules.Node
}

func newServer(t *testing.T) *server {
	t.Helper()
	return &server{t: t, n: rules.Node{Now: start, Grace: grace, Floor: grace}}
}

func at(ms int64, owner string) rules.Try {
	return rules.Try{Owner: owner, Stream: "s", Tick: ms, TTL: ttl}
}

func plain(owner string) rules.Try {
	return rules.Try{Owner: owner, Stream: "p", Plain: true, TTL: ttl}
}

func overlapping(ms int64, owner string) rules.Try {
	try := at(ms, owner)
	try.Overlaps = true
	return try
}

func rerun(ms int64, owner string) rules.Try { return rerunning(at(ms, owner)) }

func rerunning(try rules.Try) rules.Try {
	try.Mode = rules.AtLeastOnce
	return try
}

func bid(n uint64) rules.Bid { return rules.Bid{Token: token(start) + n, Attempt: 1, Keep: 10} }

func nth(attempt int, b rules.Bid) rules.Bid {
	b.Attempt = attempt
	return b
}

func join(b rules.Bid) rules.Bid {
	b.Join = true
	return b
}

func (v *server) want(what string, want rules.Code, got rules.Answer) rules.Answer {
	v.t.Helper()
	if got.Code != want {
		v.t.Fatalf("%s: %s, want %s (%+v)", what, got.Code, want, got)
	}
	return got
}

func (v *server) lock(want rules.Code, t rules.Try) rules.Answer {
	v.t.Helper()
	before := v.s
	if look := rules.Look(v.s, v.n, t); look.Code != want {
		v.t.Fatalf("LOOK of %s: %s, want %s", t.Owner, look.Code, want)
	}
	s, a := rules.Lock(v.s, v.n, t)
	v.s = s
	if want != rules.OK && !reflect.DeepEqual(before, s) {
		v.t.Fatalf("LOCK of %s: refused, and it left %+v", t.Owner, s)
	}
	return v.want("LOCK of "+t.Owner, want, a)
}

func (v *server) commit(want rules.Code, t rules.Try, b rules.Bid) rules.Answer {
	v.t.Helper()
	before := v.s
	s, a := rules.Commit(v.s, v.n, t, b)
	v.s = s
	if want != rules.OK && !reflect.DeepEqual(before, s) {
		v.t.Fatalf("COMMIT of %s: refused, and it left %+v", t.Owner, s)
	}
	return v.want("COMMIT of "+t.Owner, want, a)
}

func (v *server) extend(want rules.Code, t rules.Try) rules.Answer {
	v.t.Helper()
	s, a := rules.Extend(v.s, v.n, t)
	v.s = s
	return v.want("EXTEND of "+t.Owner, want, a)
}

func (v *server) finish(want rules.Code, t rules.Try, e rules.End) rules.Answer {
	v.t.Helper()
	e.Keep = 10
	s, a := rules.Finish(v.s, v.n, t, e)
	v.s = s
	return v.want("FINISH of "+t.Owner, want, a)
}

func (v *server) void(t rules.Try, straggler bool) {
	v.t.Helper()
	s, a := rules.Void(v.s, v.n, t, straggler)
	v.s = s
	v.want("VOID of "+t.Owner, rules.OK, a)
}

func (v *server) forget(want rules.Code) {
	v.t.Helper()
	s, n, a := rules.Forget(v.s, v.n)
	v.s, v.n = s, n
	v.want("FORGET", want, a)
}

func (v *server) wait(ms int64) { v.n.Now += ms }

// restart begins a new life of the node: it may have forgotten all before now.
func (v *server) restart() { v.n.Floor = v.n.Now + grace }
