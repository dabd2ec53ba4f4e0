package nodetest

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// A desk sends requests to a node as a client of its cluster does.
type desk struct {
	t    *testing.T
	node *Node
	now  time.Time
}

const grace = 10 * time.Second

// open returns a node that never served.
func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, node: New("incarnation 1"), now: time.Unix(1_800_000_000, 0)}
	d.want("OK", "format", "0", "names", "0")
	return d
}

func (d *desk) call(script string, args ...string) []string {
	d.t.Helper()
	ms := strconv.FormatInt(grace.Milliseconds(), 10)
	head := []string{"a members 0 " + ms + " 2", ms, "", "5000"}
	keys := []string{"node", "j:lock", "j:beside", "j:beside", "j:fence", "j:claim", "dead:" + slices.Concat(args, []string{""})[0], "j:runs"}
	reply, err := d.node.Call(d.now, script, keys, append(head, args...))
	if err != nil {
		d.t.Fatal(err)
	}
	return reply
}

func (d *desk) want(code, script string, args ...string) {
	d.t.Helper()
	if got := d.call(script, args...); got[0] != code {
		d.t.Errorf("%s %v = %v, want %s", script, args, got, code)
	}
}

// tick is the n-th second after d began, as requests name it.
func (d *desk) tick(n int) string { return strconv.Itoa((1_800_000_000 + n) * 1000) }

// token is the n-th after d began.
func (d *desk) token(n int) string { return strconv.Itoa(1_800_000_000<<20 + n) }

func (d *desk) commit(code, v string, tick, token int) {
	d.t.Helper()
	d.want(code, "commit", v, "schedule", d.tick(tick), "5000", "0", "0", d.token(token), "1", "0", "packed", "3")
}

func (d *desk) lock(code, v string, tick int) {
	d.t.Helper()
	d.want(code, "lock", v, "schedule", d.tick(tick), "5000", "0", "0")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		memory      func(all, before State) State
		lock, claim bool
	}{
		{"all", func(all, _ State) State { return all }, true, true},
		{"what has no ttl", func(all, _ State) State { return all.Lasting() }, false, true},
		{"what was before", func(_, before State) State { return before }, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t)
			before := d.node.State.Copy()
			d.commit("OK", "v", 0, 1)
			d.node.Restart("incarnation 2", tt.memory(d.node.State, before))
			if got := d.node.Jobs["j:"].Lock.Owner != ""; got != tt.lock {
				t.Errorf("the lock is there: %v", got)
			}
			if got := d.node.Jobs["j:"].Streams["schedule"].Owner != ""; got != tt.claim {
				t.Errorf("the claim is there: %v", got)
			}
			d.lock("ABSTAIN", "w", 1)
			d.now = d.now.Add(grace + time.Second)
			d.lock("OK", "w", 11)
		})
	}
	d := open(t)
	d.node.Restart("incarnation 2", Nothing())
	d.lock("BLANK", "v", 0)
}

func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.commit("OK", "v", 0, 1)
	d.want("OK", "record", d.tick(0), "Nx", "Nx1", "5") // its notes are the key j:lock
	d.want("OK", "announce", "1000", "60000", "100", "0", "a", "{}")
	c := &desk{t: t, node: d.node.Copy(), now: d.now}
	c.want("OK", "finish", "v", "schedule", d.tick(0), "5000", "0", "3", "packed", "end")
	c.want("OK", "record", d.tick(1), "Nx", "Nx2", "5")
	c.want("OK", "unpublish", "a")
	d.node.Member.Since = "1"
	if c.node.Member.Since == "1" || d.node.Jobs["j:"].Streams["schedule"].Ended != "" ||
		len(d.node.Runs("j:runs"))+len(d.node.Notes["j:lock"]) != 1 || len(d.node.Rosters["j:lock"]) != 1 {
		t.Errorf("the copy is not its own:\n%+v\n%+v", d.node.State, c.node.State)
	}
}

// Each check that is left out lets something through.
func TestWithout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		without Without
		steps   func(d *desk, broken bool)
	}{
		{"fence", Without{Fence: true}, func(d *desk, broken bool) {
			d.commit("OK", "v", 0, 2)
			d.now = d.now.Add(6 * time.Second)
			d.lock("OK", "w", 1)
			d.commit(map[bool]string{true: "OK", false: "STALE"}[broken], "w", 1, 2)
		}},
		{"tick", Without{Tick: true}, func(d *desk, broken bool) {
			d.commit("OK", "v", 0, 2)
			d.now = d.now.Add(6 * time.Second)
			d.lock(map[bool]string{true: "OK", false: "CLAIMED"}[broken], "w", 0)
		}},
		{"restart", Without{Restart: true}, func(d *desk, broken bool) {
			d.node.Restart("incarnation 2", d.node.State.Lasting())
			d.lock(map[bool]string{true: "OK", false: "ABSTAIN"}[broken], "w", 1)
		}},
		{"compare", Without{Compare: true}, func(d *desk, broken bool) {
			d.lock("OK", "v", 0)
			d.want("OK", "void", "w", "schedule", d.tick(0), "5000", "0", "", "0")
			d.lock(map[bool]string{true: "OK", false: "BUSY"}[broken], "x", 0)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.steps(open(t), false)
			d := open(t)
			d.node.Without = tt.without
			tt.steps(d, true)
		})
	}
}

// Data of another format is no memory of this one: whatever is asked is refused, and
// nothing changes.
func TestOtherFormatsAreRefused(t *testing.T) {
	t.Parallel()
	for format, held := range map[string]string{"": "1", "1": "1", "3": "3"} {
		d := open(t)
		d.node.Member.Format = format
		before := *d.node.Member
		for script, args := range map[string][]string{
			"peek": nil, "init": nil, "format": {"0", "names", "0"}, "open": {"names", "0", "members"},
		} {
			if got := d.call(script, args...); got[0] != "CONFIG" || got[2] != "format" || got[3] != held {
				t.Errorf("format %q, %s: %v", format, script, got)
			}
		}
		d.lock("CONFIG", "v", 60)
		if *d.node.Member != before {
			t.Errorf("format %q: the node holds %+v", format, *d.node.Member)
		}
	}
}
