package protocol_test

import (
	"testing"

	"github.com/quorate/quorate/internal/store/protocol"
)

func TestLockAndCommit(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"a claim in one round": func(v *server) {
			a := v.commit(protocol.OK, at(tick, "a"), bid(1))
			if a.Fence != bid(1).Token || a.Attempt != 1 {
				v.t.Fatalf("answered %+v", a)
			}
			v.lock(protocol.Claimed, at(tick, "b"))
			v.commit(protocol.Claimed, at(tick, "b"), bid(2))
		},
		"a claim in two rounds": func(v *server) {
			v.lock(protocol.OK, at(tick, "a"))
			v.lock(protocol.OK, at(tick, "a"))
			v.lock(protocol.Busy, at(tick, "b"))
			v.commit(protocol.Busy, at(tick, "b"), bid(2))
			v.commit(protocol.OK, at(tick, "a"), bid(1))
		},
		"the first round leaves nothing but a lock that ends": func(v *server) {
			v.lock(protocol.OK, at(tick, "a"))
			v.wait(ttl + 1)
			v.commit(protocol.OK, at(tick, "b"), bid(1))
		},
		"asked again": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.lock(protocol.Busy, at(tick+1, "b"))
		},
		"asked again where another try has the lock": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, at(tick+1, "b"))
			v.commit(protocol.Busy, at(tick, "a"), bid(1))
		},
		"a token must be larger than the fence": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(2))
			v.finish(protocol.OK, at(tick, "a"), protocol.End{})
			v.commit(protocol.Stale, at(tick+1, "b"), bid(1))
			if a := v.commit(protocol.Stale, at(tick+1, "b"), bid(2)); a.Fence != bid(2).Token {
				v.t.Fatalf("answered %+v", a)
			}
			v.commit(protocol.OK, at(tick+1, "b"), bid(3))
		},
		"a later tick closes the earlier ones": func(v *server) {
			v.commit(protocol.OK, at(tick+1, "a"), bid(1))
			v.finish(protocol.OK, at(tick+1, "a"), protocol.End{})
			v.lock(protocol.Later, at(tick, "b"))
			v.commit(protocol.Later, at(tick, "b"), bid(2))
		},
		"a finished tick is done for every mode": func(v *server) {
			v.commit(protocol.OK, rerun(tick, "a"), bid(1))
			v.finish(protocol.OK, rerun(tick, "a"), protocol.End{})
			v.commit(protocol.Done, rerun(tick, "b"), nth(2, bid(2)))
			v.commit(protocol.Done, at(tick, "c"), nth(2, bid(2)))
		},
		"a lapsed lock does not let a claim in one round pass": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.commit(protocol.Unended, at(tick+1, "b"), bid(2))
			v.extend(protocol.OK, at(tick, "a"))
		},
		"two rounds pass a holder that died": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, at(tick+1, "b"))
			v.commit(protocol.OK, at(tick+1, "b"), bid(2))
		},
		"a plain lock meets the lapsed lock of a tick": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.lock(protocol.Busy, plain("b"))
			v.wait(ttl + 1)
			v.commit(protocol.Unended, plain("b"), bid(2))
			v.lock(protocol.OK, plain("b"))
			v.commit(protocol.OK, plain("b"), bid(2))
		},
		"streams have claims of their own": func(v *server) {
			v.commit(protocol.OK, at(tick+5, "a"), bid(1))
			v.finish(protocol.OK, at(tick+5, "a"), protocol.End{})
			other := at(tick, "b")
			other.Stream = "manual"
			v.commit(protocol.Stale, other, bid(1))
			v.commit(protocol.OK, other, bid(2))
		},
		"a tick or token ahead of the clock": func(v *server) {
			v.lock(protocol.OK, at(start+grace/2, "a"))
			v.lock(protocol.Future, at(start+grace/2+1, "b"))
			v.commit(protocol.Future, at(tick, "a"), protocol.Bid{Token: token(start+grace/2) + 1, Attempt: 1})
			v.n.Now = 10_000_000_000 * second // 2286
			v.commit(protocol.Future, at(tick, "a"), protocol.Bid{Token: 1 << 53, Attempt: 1})
		},
		"a void claim frees its tick": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "a"), false)
			v.commit(protocol.Stale, at(tick, "b"), nth(1, bid(2)))
			v.commit(protocol.OK, at(tick, "b"), nth(2, bid(2)))
		},
		"a void claim of a rerun frees it for reruns": func(v *server) {
			v.commit(protocol.OK, rerun(tick, "a"), bid(1))
			v.void(rerun(tick, "a"), false)
			v.lock(protocol.Claimed, at(tick, "b"))
			v.lock(protocol.OK, rerun(tick, "b"))
		},
		"a rerun needs a larger attempt": func(v *server) {
			v.commit(protocol.OK, rerun(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.Claimed, at(tick, "b"))
			if a := v.lock(protocol.OK, rerun(tick, "b")); a.Attempt != 1 || a.Fence != bid(1).Token {
				v.t.Fatalf("answered %+v", a)
			}
			v.commit(protocol.Stale, rerun(tick, "b"), nth(1, bid(2)))
			v.commit(protocol.OK, rerun(tick, "b"), nth(2, bid(2)))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestNodeThatMayHaveForgotten(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"it abstains from ticks up to its floor": func(v *server) {
			v.restart()
			v.lock(protocol.Abstain, at(tick, "a"))
			v.commit(protocol.Abstain, at(v.n.Floor, "a"), bid(1))
			v.lock(protocol.Abstain, plain("p"))
		},
		"it votes for later ticks when its clock has passed the floor": func(v *server) {
			v.restart()
			v.n.Now = v.n.Floor
			v.lock(protocol.Future, at(v.n.Floor+1, "a"))
			v.wait(1)
			v.lock(protocol.OK, at(v.n.Floor+1, "a"))
			v.commit(protocol.Abstain, at(v.n.Floor, "b"), bid(1))
		},
		"its fence lies above all tokens of its last incarnation": func(v *server) {
			v.wait(-1) // the floor is no whole second
			v.restart()
			v.n.Now = v.n.Floor + second
			last := protocol.Bid{Token: token(v.n.Floor + 1), Attempt: 1}
			v.commit(protocol.Stale, plain("p"), last)
			last.Token++
			v.commit(protocol.OK, plain("p"), last)
		},
		"a holder joins, and no token below the floor passes after it": func(v *server) {
			v.restart()
			v.commit(protocol.Abstain, at(tick, "a"), bid(5))
			v.commit(protocol.OK, at(tick, "a"), join(bid(5)))
			v.extend(protocol.OK, at(tick, "a"))
			if a := v.finish(protocol.OK, at(tick, "a"), protocol.End{}); a.Code != protocol.OK {
				v.t.Fatal(a)
			}
			v.n.Now = v.n.Floor + second
			v.commit(protocol.Stale, at(v.n.Floor+1, "b"), bid(6))
		},
		"a superseded holder does not join": func(v *server) {
			v.commit(protocol.OK, at(tick+1, "b"), bid(2))
			v.finish(protocol.OK, at(tick+1, "b"), protocol.End{})
			v.restart()
			v.commit(protocol.Later, at(tick, "a"), join(bid(1)))
			v.commit(protocol.Stale, plain("p"), join(bid(1)))
		},
		"a holder joins where its predecessor's end is not known": func(v *server) {
			v.commit(protocol.OK, at(tick-1, "z"), bid(1))
			v.wait(ttl + 1)
			v.commit(protocol.Unended, at(tick, "a"), bid(2))
			v.commit(protocol.OK, at(tick, "a"), join(bid(2)))
		},
		"it sets the lock of its open claim again": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.restart()
			v.extend(protocol.OK, at(tick, "a"))
			v.wait(ttl)
			v.extend(protocol.OK, at(tick, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}
