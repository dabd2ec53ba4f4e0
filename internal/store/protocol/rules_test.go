package protocol_test

import (
	"reflect"
	"testing"

	"github.com/quorate/quorate/internal/store/protocol"
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
	s protocol.State
	n protocol.Node
}

func newServer(t *testing.T) *server {
	t.Helper()
	return &server{t: t, n: protocol.Node{Now: start, Grace: grace, Floor: grace}}
}

func at(ms int64, owner string) protocol.Try {
	return protocol.Try{Owner: owner, Stream: "s", Tick: ms, TTL: ttl}
}

func plain(owner string) protocol.Try {
	return protocol.Try{Owner: owner, Stream: "p", Plain: true, TTL: ttl}
}

func overlapping(ms int64, owner string) protocol.Try {
	try := at(ms, owner)
	try.Overlaps = true
	return try
}

func rerun(ms int64, owner string) protocol.Try { return rerunning(at(ms, owner)) }

func rerunning(try protocol.Try) protocol.Try {
	try.Mode = protocol.AtLeastOnce
	return try
}

func bid(n uint64) protocol.Bid { return protocol.Bid{Token: token(start) + n, Attempt: 1, Keep: 10} }

func nth(attempt int, b protocol.Bid) protocol.Bid {
	b.Attempt = attempt
	return b
}

func join(b protocol.Bid) protocol.Bid {
	b.Join = true
	return b
}

func (v *server) want(what string, want protocol.Code, got protocol.Answer) protocol.Answer {
	v.t.Helper()
	if got.Code != want {
		v.t.Fatalf("%s: %s, want %s (%+v)", what, got.Code, want, got)
	}
	return got
}

func (v *server) lock(want protocol.Code, t protocol.Try) protocol.Answer {
	v.t.Helper()
	before := v.s
	if look := protocol.Look(v.s, v.n, t); look.Code != want {
		v.t.Fatalf("LOOK of %s: %s, want %s", t.Owner, look.Code, want)
	}
	s, a := protocol.Lock(v.s, v.n, t)
	v.s = s
	if want != protocol.OK && !reflect.DeepEqual(before, s) {
		v.t.Fatalf("LOCK of %s: refused, and it left %+v", t.Owner, s)
	}
	return v.want("LOCK of "+t.Owner, want, a)
}

func (v *server) commit(want protocol.Code, t protocol.Try, b protocol.Bid) protocol.Answer {
	v.t.Helper()
	before := v.s
	s, a := protocol.Commit(v.s, v.n, t, b)
	v.s = s
	if want != protocol.OK && !reflect.DeepEqual(before, s) {
		v.t.Fatalf("COMMIT of %s: refused, and it left %+v", t.Owner, s)
	}
	return v.want("COMMIT of "+t.Owner, want, a)
}

func (v *server) extend(want protocol.Code, t protocol.Try) protocol.Answer {
	v.t.Helper()
	s, a := protocol.Extend(v.s, v.n, t)
	v.s = s
	return v.want("EXTEND of "+t.Owner, want, a)
}

func (v *server) finish(want protocol.Code, t protocol.Try, e protocol.End) protocol.Answer {
	v.t.Helper()
	e.Keep = 10
	s, a := protocol.Finish(v.s, v.n, t, e)
	v.s = s
	return v.want("FINISH of "+t.Owner, want, a)
}

func (v *server) void(t protocol.Try, straggler bool) {
	v.t.Helper()
	s, a := protocol.Void(v.s, v.n, t, straggler)
	v.s = s
	v.want("VOID of "+t.Owner, protocol.OK, a)
}

func (v *server) forget(want protocol.Code) {
	v.t.Helper()
	s, n, a := protocol.Forget(v.s, v.n)
	v.s, v.n = s, n
	v.want("FORGET", want, a)
}

func (v *server) wait(ms int64) { v.n.Now += ms }

// restart begins a new incarnation of the node: it may have forgotten all before now.
func (v *server) restart() { v.n.Floor = v.n.Now + grace }
