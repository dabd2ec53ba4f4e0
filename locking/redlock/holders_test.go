package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// TestPicture: the holdings of five nodes as one list.
func TestPicture(t *testing.T) {
	t.Parallel()
	claim := func(owner string, token locking.Token) holding {
		return holding{owner: owner, Holding: locking.Holding{Holder: "holder-" + owner, Token: token, Attempt: 1}}
	}
	done, void := claim("a", 5), claim("a", 5)
	done.Done, void.Void = true, true
	lock := func(v string, seconds int, claims ...holding) sighting {
		return sighting{lock: v, left: time.Duration(seconds) * time.Second, claims: claims}
	}
	only := func(c holding) sighting { return sighting{claims: []holding{c}} }
	beside := func(owner string, token locking.Token, lock string) holding {
		c := claim(owner, token)
		c.Beside, c.tickLock, c.left = true, lock, time.Second
		return c
	}
	none := sighting{}
	for _, tt := range []struct {
		name string
		seen []sighting
		want string // owner:token on left, in order
	}{
		{"nothing", []sighting{none, none, none}, ""},
		{"held everywhere", []sighting{
			lock("a", 5, claim("a", 5)), lock("a", 3, claim("a", 5)), lock("a", 4, claim("a", 5)), lock("a", 9, claim("a", 5)), lock("a", 8, claim("a", 5)),
		}, "a:5 5/5 5s"},
		{"held by a quorum, not yet committed everywhere", []sighting{
			lock("a", 5, claim("a", 5)), lock("a", 4), lock("a", 3, claim("a", 5)), none, none,
		}, "a:5 3/5 3s"},
		{"a minority's is no holder's", []sighting{lock("a", 5, claim("a", 5)), lock("a", 5, claim("a", 5)), none, none}, "a:5 2/5 0s"},
		{"votes divided", []sighting{lock("a", 5), lock("b", 5), lock("a", 5), lock("c", 5)}, "a:0 2/5 0s, b:0 1/5 0s, c:0 1/5 0s"},
		{"run without a lock", []sighting{only(claim("a", 5)), only(claim("a", 5)), only(claim("a", 5))}, "a:5 0/5 0s"},
		{"one node knows that it ended", []sighting{only(claim("a", 5)), only(done), only(claim("a", 5))}, ""},
		{"one node knows that it was given back", []sighting{only(claim("a", 5)), only(void), only(claim("a", 5))}, ""},
		{"superseded where somebody was heard of", []sighting{only(claim("a", 5)), only(claim("a", 5)), only(claim("b", 6))}, "b:6 0/5 0s"},
		{"two work beside each other", []sighting{
			{claims: []holding{beside("a", 5, "a"), beside("b", 6, "b")}}, only(beside("a", 5, "a")), only(beside("a", 5, "a")),
		}, "a:5 3/5 1s, b:6 1/5 0s"},
		{"somebody locks the next tick", []sighting{
			lock("b", 5, done), lock("b", 5, done), lock("b", 5, claim("a", 5)),
		}, "b:0 3/5 5s"},
		{"somebody locks over a run that never ended", []sighting{
			lock("b", 5, claim("a", 5)), lock("b", 5, claim("a", 5)), lock("b", 5, claim("a", 5)),
		}, "b:0 3/5 5s, a:5 0/5 0s"},
	} {
		p := newPicture()
		for _, s := range tt.seen {
			p.add(s)
		}
		var got []string
		for _, h := range p.holdings("x", 5, len(tt.seen)) {
			got = append(got, fmt.Sprintf("%s:%d %d/%d %v", h.owner, h.Token, h.On.For, h.On.Of, h.Left))
			if h.Known() && h.Holder != "holder-"+h.owner {
				t.Errorf("%s: %s is said to be %q", tt.name, h.owner, h.Holder)
			}
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestMayHold: rules of a forced release. A node without a lock sets it again for the owner
// of the claim it holds, so it counts.
func TestMayHold(t *testing.T) {
	t.Parallel()
	claim := holding{owner: "a", Holding: locking.Holding{Holder: "h", Token: 5}}
	done := claim
	done.Done = true
	with := func(lock string, c holding) sighting { return sighting{lock: lock, claims: []holding{c}} }
	lock, other, open := with("a", claim), with("b", claim), with("", claim)
	for _, tt := range []struct {
		name string
		seen []sighting // of five nodes; the rest are silent
		held bool
		may  bool
	}{
		{"all hold it", []sighting{lock, lock, lock, lock, lock}, true, true},
		{"a quorum, as far as is known", []sighting{lock, lock, lock}, true, true},
		{"the silent ones may hold it", []sighting{lock, {}, {}}, false, true},
		{"the silent ones may hold it, another has the rest", []sighting{lock, other, other}, false, true},
		{"a minority holds it, others would set it again", []sighting{lock, lock, open, {}, {}}, false, true},
		{"a minority holds it, others lack the claim", []sighting{lock, lock, {}, {}, {}}, false, true},
		{"somebody else has it where it would be set again", []sighting{lock, lock, other, other, other}, false, false},
		{"its run has finished", []sighting{lock, with("", done), with("", done), {}, {}}, false, false},
		{"a try that got no further than its lock", []sighting{{lock: "a"}, {}, {}, {}, {}}, false, false},
		{"it has run out everywhere", []sighting{open, open, open, open, open}, false, false},
		{"it has run out, as far as is known", []sighting{open, open, open}, false, true},
	} {
		p := newPicture()
		for _, s := range tt.seen {
			p.add(s)
		}
		all := p.holdings("x", 5, len(tt.seen))
		h := all[slices.IndexFunc(all, func(h holding) bool { return h.owner == "a" })]
		if h.owner != "a" || h.Held() != tt.held || h.mayHold() != tt.may {
			t.Errorf("%s: %s, held %t, may hold %t; want a, %t, %t", tt.name, h.owner, h.Held(), h.mayHold(), tt.held, tt.may)
		}
	}
}

// TestHolders: the holders, as an operator sees them with the least privileged user, on
// nodes with other data.
func TestHolders(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))
	c := newCluster(t, redistest.URLs(servers), nil)
	l, set := c.locker(t), c.open(t)
	if got := mustHolders(t, set); len(got) > 0 {
		t.Fatalf("Holders of nothing = %v", got)
	}
	request := func(name string, tick time.Time) locking.Request {
		return locking.Request{Name: name, Tick: tick, TTL: c.cfg.TTL, Holder: "holder of " + name, Mode: locking.AtLeastOnce}
	}
	held := mustAcquire(t, l, request("b-job", past(1)))
	plain := mustAcquire(t, l, request("a:lock:of:things", time.Time{}))
	mustRelease(t, mustAcquire(t, l, request("c-done", past(1))))
	if err := mustAcquire(t, l, request("d-void", past(1))).Void(t.Context()); err != nil {
		t.Fatal(err)
	}
	lapsed := mustAcquire(t, l, request("e-lapsed", past(1)))
	for i, s := range servers {
		all := s.Client()
		all.Set(t.Context(), "{quorate}:job:f-foreign:lock", "somebody", time.Minute)
		all.Set(t.Context(), "{quorate}:job:x:runs", "not a lock", 0)
		all.Set(t.Context(), "quorates:job:y:lock", "another namespace", 0)
		if i < 4 {
			all.Set(t.Context(), "{quorate}:job:g-endless:lock", "somebody", 0)
		}
	}

	var got []locking.Holding
	want := []string{"a:lock:of:things", "b-job", "e-lapsed", "f-foreign", "g-endless"}
	eventually(t, "what was released is released everywhere", func() bool {
		for _, s := range servers {
			s.Client().Del(t.Context(), "{quorate}:job:e-lapsed:lock")
		}
		got = mustHolders(t, set)
		var names []string
		for _, h := range got {
			names = append(names, h.Name)
		}
		return slices.Equal(names, want) && got[2].On.For == 0
	})
	for i, lease := range map[int]locking.Lease{0: plain, 1: held, 2: lapsed} {
		h, claim := got[i], lease.Claim()
		if h.Holder != "holder of "+h.Name || h.Token != claim.Token || !h.Tick.Equal(claim.Tick) || h.Attempt != claim.Attempt ||
			h.Mode != locking.AtLeastOnce || h.Since.IsZero() || h.Done || h.Void || !h.Known() {
			t.Errorf("%s: %+v, claimed was %+v", h.Name, h, claim)
		}
		lasts := h.Left > 0 && h.Left <= c.cfg.TTL
		if want := i < 2; lasts != want || h.Held() != want || !want && h.On.For > 0 {
			t.Errorf("%s is held by %d nodes for %v", h.Name, h.On.For, h.Left)
		}
	}
	if h := got[3]; h.Known() || h.Holder != "" || !h.Held() || h.Left <= 0 || h.Left > time.Minute {
		t.Errorf("a stranger's lock: %+v", h)
	}
	if h := got[4]; h.Known() || h.On.For != 4 || h.Left != locking.Endless {
		t.Errorf("an endless lock: %+v", h)
	}
}

// mustHolders asks until a quorum has answered, which a busy machine may delay.
func mustHolders(t *testing.T, set *membership.Set) (got []locking.Holding) {
	t.Helper()
	eventually(t, "a quorum says who holds what", func() bool {
		var err error
		got, err = Holders(t.Context(), set)
		if err != nil && !errors.Is(err, locking.ErrNoQuorum) {
			t.Fatalf("Holders = %v", err)
		}
		return err == nil
	})
	return got
}

// TestHoldersWithoutSome: a quorum's word is enough, and less is an error.
func TestHoldersWithoutSome(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	f.servers[0].Kill()
	f.servers[1].Kill()
	acquireSoon(t, f.locker(t), f.request(past(1))) // the lock is on the other three
	got := mustHolders(t, f.open(t))
	if len(got) != 1 || !got[0].Held() || got[0].Left <= 0 {
		t.Errorf("Holders with two of five gone = %+v", got)
	}
	f.servers[2].Kill()
	_, err := Holders(t.Context(), f.open(t))
	if !errors.Is(err, locking.ErrNoQuorum) || strings.Count(err.Error(), "127.0.0.1") < 3 || strings.Contains(err.Error(), "\n") {
		t.Errorf("Holders with three of five gone = %v", err)
	}
}

// TestHoldersOfMany: more names than one look takes.
func TestHoldersOfMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := newCluster(t, []string{server.URL()}, nil)
	const many = scanKeys + readNames/2
	pipe := server.Client().Pipeline()
	for i := range many {
		pipe.Set(t.Context(), fmt.Sprintf("{quorate}:job:n%d:lock", i), "v", time.Minute)
		pipe.Set(t.Context(), fmt.Sprintf("{quorate}:job:n%d:fence", i), "1 v - lock", 0)
		pipe.Set(t.Context(), fmt.Sprintf("{quorate}:job:n%d:claim.lock", i), "-- 1 v 0 1 0 lock h|", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, h := range mustHolders(t, c.open(t)) {
		if h.Token != 1 || !h.Held() {
			t.Fatalf("%+v", h)
		}
		names[h.Name] = true
	}
	if len(names) != many {
		t.Errorf("found %d names, want %d", len(names), many)
	}
}

// TestHoldersOnSealedNodes: while the list of nodes is changed, one can look but
// not act.
func TestHoldersOnSealedNodes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := newCluster(t, []string{server.URL()}, nil)
	set := c.open(t)
	acquireSoon(t, c.locker(t), c.request(past(1)))
	if err := server.Client().HSet(t.Context(), "{quorate}:node", "sealed_for", "another:1", "sealed_names", "x:1").Err(); err != nil {
		t.Fatal(err)
	}
	if got := mustHolders(t, set); len(got) != 1 || !got[0].Held() {
		t.Errorf("Holders on a sealed node = %v", got)
	}
	eventually(t, "the node refuses, because it is sealed", func() bool {
		_, err := Evict(t.Context(), set, "job", 0, "it hangs")
		if err == nil {
			t.Fatal("it released the lock")
		}
		return errors.Is(err, locking.ErrRefused) && strings.Contains(err.Error(), "sealed")
	})
}
