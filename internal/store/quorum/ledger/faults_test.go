package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// TestLostMinority wipes two of five nodes and wants the ledger unchanged: while they are
// gone, blank, and formatted again.
func TestLostMinority(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	formatted := make(chan string, 20)
	c := connect(t, redistest.Servers(servers), func(cfg *membership.Config) {
		cfg.Observer.Formatted = func(node string, _ time.Time) { formatted <- node }
	})
	c.run(t, "job", 1)
	c.record(t, skipped("job", 2, "busy"))
	c.run(t, "job", 3)
	c.locker.Settle() // a node that frees the last claim too late refuses the next one
	c.claim(t, "job", 4)
	c.locker.Settle() // a slow node has it, too
	before := c.ticks(t, "job")
	wantOutcomes(t, before, ledger.Running, ledger.Succeeded, ledger.Skipped, ledger.Succeeded)
	lost := servers[1:3]
	for len(formatted) > 0 {
		<-formatted // told by connect
	}
	for _, s := range lost {
		s.Kill()
	}
	same := func(when string) {
		t.Helper()
		if got := c.ticks(t, "job"); !reflect.DeepEqual(got, before) {
			t.Errorf("ledger with a minority %s =\n%+v, want\n%+v", when, got, before)
		}
	}
	same("down")
	for _, s := range lost {
		s.Restart(false)
	}
	same("wiped")
	for range lost { // Run finds them blank and formats them
		select {
		case <-formatted:
		case <-t.Context().Done():
			t.Fatal("the nodes never came back")
		}
	}
	for _, r := range c.set.Call(t.Context(), c.lua.read, []string{c.set.Key("w"), c.set.Key("x"), c.set.Key("y"), c.set.Key("z")}, "+inf", 0, 1) {
		if r.Err != nil {
			t.Errorf("%s does not answer after all: %v", r.Node, r.Err)
		}
	}
	same("blank")
	servers[0].Kill()
	servers[4].Kill()
	same("blank and only one node that remembers")
	c.record(t, skipped("job", 5, "waiting for nodes"))
	wantOutcomes(t, c.ticks(t, "job"), ledger.Skipped, ledger.Running, ledger.Succeeded, ledger.Skipped, ledger.Succeeded)
}

func TestNoQuorum(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 5)
	c := connect(t, minis.Cluster())
	c.run(t, "job", 1)
	for _, i := range []int{0, 2} {
		minis.Stop(i)
	}
	wantOutcomes(t, c.ticks(t, "job"), ledger.Succeeded)
	c.record(t, skipped("job", 2, "busy"))
	if _, err := c.Beat(t.Context(), roster.Replica{ID: "a"}); err != nil {
		t.Errorf("Beat with three of five nodes = %v", err)
	}

	minis.Stop(3)
	q := ledger.Query{Job: "job", Limit: 10}
	_, runs := c.Runs(t.Context(), q)
	_, ticks := c.Ticks(t.Context(), q)
	_, beat := c.Beat(t.Context(), roster.Replica{ID: "a"})
	_, replicas := c.Replicas(t.Context())
	_, jobs := c.Jobs(t.Context())
	_, recorded := c.Record(t.Context(), skipped("job", 3, "busy"))
	for what, err := range map[string]error{
		"Runs": runs, "Ticks": ticks, "Beat": beat, "Replicas": replicas, "Jobs": jobs,
		"Record": recorded, "Leave": c.Leave(t.Context(), roster.Replica{ID: "a"}),
		"Publish": c.Publish(t.Context(), []roster.JobInfo{{Name: "job"}}),
	} {
		if !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("%s with two of five nodes = %v, want ErrNoQuorum", what, err)
			continue
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s = %v, want it on one line", what, err)
		}
		for _, want := range []string{"2 of 5", "node-1:6379", "node-3:6379", "node-4:6379"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s = %v, want it to name %s", what, err, want)
			}
		}
	}
}

// TestNodesThatDiffer stores random records on the nodes, as after many partial failures,
// and wants small pages to equal one large page.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 3)
	c := connect(t, minis.Cluster())
	key := c.set.JobKey("job", "runs")
	const ticks = 60
	kinds := []byte{scripts.Started, scripts.Finished, scripts.Late}
	for n := range ticks {
		for i := range 3 {
			at := tick(n)
			if (n*7+i*5)%4 != 0 {
				e := skipped("job", n, string(rune('a'+i)))
				c.put(t, minis, i, key, scripts.Record{Kind: scripts.NotRun, Tick: at, Note: ledger.EncodeNote(e)})
			}
			for token := range n % 9 * 4 { // some ticks have more claims than a page holds
				if (n+token*3+i)%(4-i) != 0 {
					r := claimed(kinds[(n+i+token)%3], uint64(1000*n+token+1))
					r.Tick = at
					c.put(t, minis, i, key, r)
				}
			}
		}
	}
	all, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 10 * ticks})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < ticks-2 {
		t.Fatalf("only %d of %d ticks are known", len(all), ticks)
	}
	for _, limit := range []int{1, 2, 3, 7, 20, 59} {
		got, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, all[:limit]) {
			t.Errorf("limit %d lists\n%+v, want\n%+v", limit, got, all[:limit])
		}
	}
	for n := range all {
		got, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 2, Before: all[n].Tick})
		if err != nil {
			t.Fatal(err)
		}
		if want := all[min(n+1, len(all)):min(n+3, len(all))]; !reflect.DeepEqual(got, want) {
			t.Errorf("before entry %d come\n%+v, want\n%+v", n, got, want)
		}
	}
}

// put stores a record on one node.
func (c *cluster) put(tb testing.TB, minis *redistest.Minis, node int, key string, r scripts.Record) {
	tb.Helper()
	r.Stream = locking.StreamSchedule
	if _, err := minis.Node(node).ZAdd(key, float64(r.Tick.UnixMilli()), r.Encode()); err != nil {
		tb.Fatal(err)
	}
}

// Who left is known by the nodes that answered then; one that was away has its last heartbeat, and
// calls it lost. Many that left displace no lost one.
func TestLeftOnSomeNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		c := connect(t, minis.Cluster())
		beat := func(id string) {
			if _, err := c.Beat(t.Context(), roster.Replica{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		beat("a")
		beat("dead")
		time.Sleep(time.Second)
		minis.Stop(0)
		for n := range roster.MostLeft + 5 {
			time.Sleep(time.Millisecond)
			if err := c.Leave(t.Context(), roster.Replica{ID: fmt.Sprint("r", n)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Leave(t.Context(), roster.Replica{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		minis.Start(0, true)
		minis.Stop(1)
		time.Sleep(roster.SeenLately)
		beat("alive")
		left, err := c.Left(t.Context())
		if err != nil || len(left) != roster.MostLeft || left[0].ID != "a" || left[0].State != roster.StateLeft || left[1].ID != "r104" {
			t.Errorf("%d left, %v, the last %+v", len(left), err, left[:min(len(left), 2)])
		}
		list, err := c.Remembered(t.Context())
		if err != nil || len(list) != 2 || list[0].ID != "alive" || list[1].ID != "dead" {
			t.Errorf("Remembered = %+v, %v, want alive and dead", list, err)
		}
		for _, node := range []int{0, 2} {
			if n, err := minis.Node(node).ZMembers(c.set.Key("left")); node == 2 && len(n) != roster.MostLeft || node == 0 && err == nil {
				t.Errorf("node %d has stored %d, %v", node, len(n), err)
			}
		}
		if ttl := minis.Node(2).TTL(c.set.Key("left")); ttl <= roster.RememberLeft-time.Minute || ttl > roster.RememberLeft {
			t.Errorf("those that left expire in %v", ttl)
		}
	})
}

// While others leave, too, the set does not expire: the old ones go with the next that leaves.
func TestThoseThatLeftLongAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 1)
		c := connect(t, minis.Cluster())
		keys := []string{c.set.Key("replicas"), c.set.Key("left")}
		for n, want := range []int{1, 2, 2, 2} {
			for _, r := range c.set.Call(t.Context(), c.lua.leave, keys, "a", n, 3000, 100) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			if list, err := minis.Node(0).ZMembers(keys[1]); err != nil || len(list) != want {
				t.Errorf("after %d s %v are stored, %v, want %d", 2*n, list, err, want)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestRosterTakesTheLatest makes the first node miss the others' updates.
func TestRosterTakesTheLatest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		c := connect(t, minis.Cluster())
		tell := func(state, spec string) {
			time.Sleep(time.Second)
			if _, err := c.Beat(t.Context(), roster.Replica{ID: "a", State: state}); err != nil {
				t.Fatalf("Beat = %v", err)
			}
			job := roster.JobInfo{Name: "job", Schedule: spec, Published: time.Now()}
			if err := c.Publish(t.Context(), []roster.JobInfo{job}); err != nil {
				t.Fatalf("Publish = %v", err)
			}
		}
		tell("waiting", "@hourly")
		minis.Stop(0)
		tell("ready", "@daily")
		minis.Start(0, true)
		time.Sleep(5 * time.Second) // until the node is up again for the replica
		for _, r := range c.set.Call(t.Context(), c.lua.look, []string{c.set.Key("jobs")}, 10_000) {
			if r.Err != nil {
				t.Fatalf("%s does not answer: %v", r.Node, r.Err)
			}
		}
		replicas, err := c.Replicas(t.Context())
		if err != nil || len(replicas) != 1 || replicas[0].State != "ready" {
			t.Errorf("Replicas = %+v, %v; want the latest heartbeat", replicas, err)
		}
		jobs, err := c.Jobs(t.Context())
		if err != nil || len(jobs) != 1 || jobs[0].Schedule != "@daily" {
			t.Errorf("Jobs = %+v, %v; want the latest definition", jobs, err)
		}
	})
}

// A node that has heard of a heartbeat only has served all the same: two of three that
// claimed and finished a tick lose their memory, and init does not let them vote again.
func TestHeartbeatMarksNodes(t *testing.T) {
	minis := redistest.MiniN(t, 3)
	c := connect(t, minis.Cluster())
	minis.Stop(2)
	c.run(t, "job", 0)
	_ = c.locker.Close() // what it did not send to the third node, it never will
	minis.Start(2, true)
	c = open(t, minis.Cluster())
	if _, err := c.Beat(t.Context(), roster.Replica{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		minis.Node(i).FlushAll()
	}
	c = open(t, minis.Cluster())
	if err := c.set.Init(t.Context(), false); !errors.Is(err, locking.ErrRefused) {
		t.Errorf("Init = %v, though one of the nodes has served", err)
	}
	if again, err := c.locker.TryAcquire(t.Context(), locking.Request{Name: "job", Tick: tick(0)}); err == nil {
		t.Errorf("the finished tick was granted again: %+v", again.Claim())
	}
}
