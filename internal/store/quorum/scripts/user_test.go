package scripts_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// patience is what a node has to answer in where none is down, on a machine that may be
// busy.
const patience = 20 * time.Second

// restricted returns a node that allows its client no more than it needs, and never served.
func restricted(t *testing.T) (desk, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))
	d := newDesk(t, membership.Config{
		Nodes: []membership.NodeConfig{{URL: server.URL()}}, Timeout: patience, TTL: 90 * time.Second, Grace: 100 * time.Second,
	})
	if err := d.set.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return d, server
}

func (d desk) want(code string, script *membership.Script, c scripts.Claim, rest ...any) {
	d.t.Helper()
	if got := d.ask(script, c, rest...); got != code {
		d.t.Errorf("%s by %s: %s, want %s", script.Name(), c.Owner, got, code)
	}
}

// The least privileged user may do all that the rules do, of both kinds of locks.
func TestRulesByTheLeastPrivilegedUser(t *testing.T) {
	t.Parallel()
	d, _ := restricted(t)
	now := time.Now().Truncate(time.Millisecond)
	token := uint64(now.Unix()) << 20
	for i, overlaps := range []bool{false, true} {
		at := func(n int) scripts.Claim {
			c := claim(fmt.Sprintf("v%d.%d", i, n), now.Add(time.Duration(10*i+n)*time.Second), token+uint64(10*i+n))
			c.Overlaps, c.Mode = overlaps, locking.AtLeastOnce
			return c
		}
		a, b := at(1), at(2)
		d.want("OK", scripts.Look, scripts.Claim{Stream: a.Stream, Tick: a.Tick, Overlaps: overlaps}, "1")
		d.want("OK", scripts.Lock, a, "1")
		d.want("OK", scripts.Commit, a, "1", a.Token, 1, "0", a.Pack(), 3)
		d.want("OK", scripts.Extend, a)
		if !overlaps {
			d.want("BUSY", scripts.Lock, b, "1")
		}
		d.want("OK", scripts.Finish, a, 3, a.Pack(), "schedule|a", "0", "1")
		d.want("DEAD", scripts.Lock, a, "1")
		d.want("OK", scripts.Commit, b, "1", b.Token, 1, "0", b.Pack(), 3)
		c := at(3)
		if overlaps { // what b began is a record then
			d.want("OK", scripts.Commit, c, "1", c.Token, 1, "0", c.Pack(), 3)
			d.want("OK", scripts.Void, b, b.Pack(), "1")
			b = c
		}
		keys := scripts.Keys(d.set, "j", b.Stream, time.UnixMilli(b.Tick), overlaps, b.Owner)
		for _, r := range d.set.Call(t.Context(), scripts.Holding, scripts.HoldingKeys(d.set, "j")) {
			if r.Err != nil || r.Arg(2) == "0" {
				t.Errorf("holding: %q, %v", r.Args, r.Err)
			}
		}
		for _, r := range d.set.Call(t.Context(), scripts.Evict, []string{keys[0], keys[5]}, b.Owner, "it hangs") {
			if r.Err != nil || r.Code != "OK" {
				t.Errorf("evict: %s %v", r.Code, r.Err)
			}
		}
		d.want("DEAD", scripts.Extend, b)
		d.want("RANOUT", scripts.Finish, b, 3, b.Pack(), "schedule|b", "0", "0")
		d.want("RANOUT", scripts.Finish, b, 3, b.Pack(), "schedule|b", "0", "0")
	}
}

// Calls that share a request are answered each for itself.
func TestRulesInABatch(t *testing.T) {
	t.Parallel()
	d, _ := restricted(t)
	tick := time.Now().Truncate(time.Millisecond)
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			c := claim(fmt.Sprint("v", n), tick, uint64(tick.Unix())<<20+uint64(n))
			name := fmt.Sprint("job ", n/2) // two tries for each
			keys := scripts.Keys(d.set, name, c.Stream, tick, false, c.Owner)
			common := []any{c.Owner, c.Stream, c.Tick, 30_000, "0"}
			node := d.set.Nodes()[0]
			r := node.Call(t.Context(), scripts.Commit, keys, append(common, "0", c.Token, 1, "0", c.Pack(), 3)...)
			switch {
			case r.Err != nil:
				t.Errorf("%s: %v", name, r.Err)
			case r.Code == "OK" && r.Int(0) != int64(c.Token), r.Code == "CLAIMED" && r.Arg(0) == c.Owner,
				r.Code != "OK" && r.Code != "CLAIMED" && r.Code != "DONE":
				t.Errorf("%s by %s: %s %q", name, c.Owner, r.Code, r.Args)
			case r.Code == "OK":
				end := node.Call(t.Context(), scripts.Finish, keys, append(common, 3, c.Pack(), "schedule|"+name, "0", "0")...)
				if end.Err != nil || end.Code != "OK" {
					t.Errorf("finish of %s: %s %v", name, end.Code, end.Err)
				}
			}
		})
	}
	wg.Wait()
}

// A node that is sealed for a change of the list takes the ends of runs, and can be looked
// at.
func TestSealedNodes(t *testing.T) {
	t.Parallel()
	d, server := restricted(t)
	if err := server.Client().HSet(t.Context(), d.set.Key("node"), "sealed_for", "target").Err(); err != nil {
		t.Fatal(err)
	}
	c := claim("v", time.Now(), 1)
	for script, open := range map[*membership.Script]bool{
		scripts.Lock: false, scripts.Look: false, scripts.Commit: false, scripts.Extend: false, scripts.Finish: true,
		scripts.Void: false, scripts.Evict: false, scripts.Forget: false, scripts.Names: true, scripts.Holding: true,
	} {
		keys := scripts.Keys(d.set, "j", c.Stream, time.UnixMilli(c.Tick), false, c.Owner)
		args := []any{c.Owner, c.Stream, c.Tick, 900, "0", 3, c.Pack(), "schedule|v", "0", "0"}
		switch script {
		case scripts.Names:
			keys, args = nil, []any{"0", d.set.Key("job") + ":", 10}
		case scripts.Holding:
			keys = scripts.HoldingKeys(d.set, "j")
		}
		if r := d.set.Nodes()[0].Call(t.Context(), script, keys, args...); (r.Err == nil) != open {
			t.Errorf("%s: %s %v", script.Name(), r.Code, r.Err)
		}
	}
}

// A node without free memory lets who has a lease extend and end it.
func TestFullNodeKeepsLeases(t *testing.T) {
	t.Parallel()
	d, server := restricted(t)
	now := time.Now().Truncate(time.Millisecond)
	var held []scripts.Claim
	for i, overlaps := range []bool{false, true} {
		c := claim(fmt.Sprint("v", i), now.Add(time.Duration(i)*time.Second), uint64(now.Unix())<<20+uint64(i))
		c.Overlaps, c.Stream = overlaps, fmt.Sprint("s", i)
		held = append(held, c)
	}
	for _, c := range held {
		d.want("OK", scripts.Commit, c, "1", c.Token, 1, "0", c.Pack(), 3)
		if err := server.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		d.want("OK", scripts.Extend, c)
		d.want("OK", scripts.Finish, c, 3, c.Pack(), "schedule|a", "0", "1")
		if err := server.Client().ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
