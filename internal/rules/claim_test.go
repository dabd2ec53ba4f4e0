package rules_test

import (
	"testing"

	"github.com/quorate/quorate/internal/rules"
)

func TestLockAndCommit(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"a claim in one round": func(v *server) {
			a := v.commit(rules.OK, at(tick, "a"), bid(1))
			if a.Fence != bid(1).Token || a.Attempt != 1 {
				v.t.Fatalf("answered %+v", a)
			}
			v.lock(rules.Claimed, at(tick, "b"))
			v.commit(rules.Claimed, at(tick, "b"), bid(2))
		},
		"a claim in two rounds": func(v *server) {
			v.lock(rules.OK, at(tick, "a"))
			v.lock(rules.OK, at(tick, "a"))
			v.lock(rules.Busy, at(tick, "b"))
			v.commit(rules.Busy, at(tick, "b"), bid(2))
			v.commit(rules.OK, at(tick, "a"), bid(1))
		},
		"the first round leaves nothing but a lock that ends": func(v *server) {
			v.lock(rules.OK, at(tick, "a"))
			v.wait(ttl + 1)
			v.commit(rules.OK, at(tick, "b"), bid(1))
		},
		"asked again": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.lock(rules.Busy, at(tick+1, "b"))
		},
		"asked again where another try has the lock": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, at(tick+1, "b"))
			v.commit(rules.Busy, at(tick, "a"), bid(1))
		},
		"a token must be larger than the fence": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(2))
			v.finish(rules.OK, at(tick, "a"), rules.End{})
			v.commit(rules.Stale, at(tick+1, "b"), bid(1))
			if a := v.commit(rules.Stale, at(tick+1, "b"), bid(2)); a.Fence != bid(2).Token {
				v.t.Fatalf("answered %+v", a)
			}
			v.commit(rules.OK, at(tick+1, "b"), bid(3))
		},
		"a later tick closes the earlier ones": func(v *server) {
			v.commit(rules.OK, at(tick+1, "a"), bid(1))
			v.finish(rules.OK, at(tick+1, "a"), rules.End{})
			v.lock(rules.Later, at(tick, "b"))
			v.commit(rules.Later, at(tick, "b"), bid(2))
		},
		"a finished tick is done for every mode": func(v *server) {
			v.commit(rules.OK, rerun(tick, "a"), bid(1))
			v.finish(rules.OK, rerun(tick, "a"), rules.End{})
			v.commit(rules.Done, rerun(tick, "b"), nth(2, bid(2)))
			v.commit(rules.Done, at(tick, "c"), nth(2, bid(2)))
		},
		"a lapsed lock does not let a claim in one round pass": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.commit(rules.Unended, at(tick+1, "b"), bid(2))
			v.extend(rules.OK, at(tick, "a"))
		},
		"two rounds pass a holder that died": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, at(tick+1, "b"))
			v.commit(rules.OK, at(tick+1, "b"), bid(2))
		},
		"a plain lock meets the lapsed lock of a tick": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.lock(rules.Busy, plain("b"))
			v.wait(ttl + 1)
			v.commit(rules.Unended, plain("b"), bid(2))
			v.lock(rules.OK, plain("b"))
			v.commit(rules.OK, plain("b"), bid(2))
		},
		"streams have claims of their own": func(v *server) {
			v.commit(rules.OK, at(tick+5, "a"), bid(1))
			v.finish(rules.OK, at(tick+5, "a"), rules.End{})
			other := at(tick, "b")
			other.Stream = "manual"
			v.commit(rules.Stale, other, bid(1))
			v.commit(rules.OK, other, bid(2))
		},
		"a tick or token ahead of the clock": func(v *server) {
			v.lock(rules.OK, at(start+grace/2, "a"))
			v.lock(rules.Future, at(start+grace/2+1, "b"))
			v.commit(rules.Future, at(tick, "a"), rules.Bid{Token: token(start+grace/2) + 1, Attempt: 1})
			v.n.Now = 10_000_000_000 * second // 2286
			v.commit(rules.Future, at(tick, "a"), rules.Bid{Token: 1 << 53, Attempt: 1})
		},
		"a void claim frees its tick": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "a"), false)
			v.commit(rules.Stale, at(tick, "b"), nth(1, bid(2)))
			v.commit(rules.OK, at(tick, "b"), nth(2, bid(2)))
		},
		"a void claim of a rerun frees it for reruns": func(v *server) {
			v.commit(rules.OK, rerun(tick, "a"), bid(1))
			v.void(rerun(tick, "a"), false)
			v.lock(rules.Claimed, at(tick, "b"))
			v.lock(rules.OK, rerun(tick, "b"))
		},
		"a rerun needs a larger attempt": func(v *server) {
			v.commit(rules.OK, rerun(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.Claimed, at(tick, "b"))
			if a := v.lock(rules.OK, rerun(tick, "b")); a.Attempt != 1 || a.Fence != bid(1).Token {
				v.t.Fatalf("answered %+v", a)
			}
			v.commit(rules.Stale, rerun(tick, "b"), nth(1, bid(2)))
			v.commit(rules.OK, rerun(tick, "b"), nth(2, bid(2)))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestNodeThatMayHaveForgotten(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"it abstains from ticks up to its floor": func(v *server) {
			v.restart()
			v.lock(rules.Abstain, at(tick, "a"))
			v.commit(rules.Abstain, at(v.n.Floor, "a"), bid(1))
			v.lock(rules.Abstain, plain("p"))
		},
		"it votes for later ticks when its clock has passed the floor": func(v *server) {
			v.restart()
			v.n.Now = v.n.Floor
			v.lock(rules.Future, at(v.n.Floor+1, "a"))
			v.wait(1)
			v.lock(rules.OK, at(v.n.Floor+1, "a"))
			v.commit(rules.Abstain, at(v.n.Floor, "b"), bid(1))
		},
		"its fence lies above all tokens of its last life": func(v *server) {
			v.wait(-1) // the floor is no whole second
			v.restart()
			v.n.Now = v.n.Floor + second
			last := rules.Bid{Token: token(v.n.Floor + 1), Attempt: 1}
			v.commit(rules.Stale, plain("p"), last)
			last.Token++
			v.commit(rules.OK, plain("p"), last)
		},
		"a holder joins, and no token below the floor passes after it": func(v *server) {
			v.restart()
			v.commit(rules.Abstain, at(tick, "a"), bid(5))
			v.commit(rules.OK, at(tick, "a"), join(bid(5)))
			v.extend(rules.OK, at(tick, "a"))
			if a := v.finish(rules.OK, at(tick, "a"), rules.End{}); a.Code != rules.OK {
				v.t.Fatal(a)
			}
			v.n.Now = v.n.Floor + second
			v.commit(rules.Stale, at(v.n.Floor+1, "b"), bid(6))
		},
		"a superseded holder does not join": func(v *server) {
			v.commit(rules.OK, at(tick+1, "b"), bid(2))
			v.finish(rules.OK, at(tick+1, "b"), rules.End{})
			v.restart()
			v.commit(rules.Later, at(tick, "a"), join(bid(1)))
			v.commit(rules.Stale, plain("p"), join(bid(1)))
		},
		"a holder joins where its predecessor's end is not known": func(v *server) {
			v.commit(rules.OK, at(tick-1, "z"), bid(1))
			v.wait(ttl + 1)
			v.commit(rules.Unended, at(tick, "a"), bid(2))
			v.commit(rules.OK, at(tick, "a"), join(bid(2)))
		},
		"it sets the lock of its open claim again": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.restart()
			v.extend(rules.OK, at(tick, "a"))
			v.wait(ttl)
			v.extend(rules.OK, at(tick, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}
