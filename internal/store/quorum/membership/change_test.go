package membership_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// sixNodes are six embedded nodes, the first three of which serve.
type sixNodes struct {
	*redistest.Minis
}

func newSix(t *testing.T) sixNodes {
	t.Helper()
	l := sixNodes{redistest.MiniN(t, 6)}
	if err := open(t, l.of(1, 2, 3)).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return l
}

// of is the configuration with the nodes of these numbers.
func (l sixNodes) of(numbers ...int) membership.Config {
	var urls []string
	for _, n := range numbers {
		urls = append(urls, l.URLs()[n-1])
	}
	return config(urls, embedded(l.Minis))
}

// change changes the list and returns its messages.
func change(t *testing.T, from, to membership.Config) ([]string, error) {
	t.Helper()
	var said []string
	c := membership.Change{From: from, To: to, Progress: func(text string) { said = append(said, text) }}
	err := c.Run(t.Context())
	return said, err
}

func mustChange(t *testing.T, from, to membership.Config) []string {
	t.Helper()
	said, err := change(t, from, to)
	if err != nil {
		t.Fatalf("%v, after %q", err, said)
	}
	return said
}

// says wants each of the texts in one of the lines.
func says(t *testing.T, said []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("it does not say %q, but %q", w, said)
		}
	}
}

// A changed list serves at the next epoch, after one grace; the rest of the former list
// refuses replicas. Further changes count on.
func TestChangeOfTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSix(t)
		defer l.Close()
		from := l.of(1, 2, 3)
		former := open(t, from)
		defer former.Close()
		for i, numbers := range [][]int{{1, 2, 3, 4, 5}, {1, 4, 5}, {6}, {2, 3, 6}} {
			if i == 3 {
				l.Node(1).FlushAll() // 2 and 3 are still sealed for the first change
				l.Node(2).FlushAll()
			}
			to := l.of(numbers...)
			mustChange(t, from, to)
			s := open(t, to)
			defer s.Close()
			if err := s.Join(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.Epoch() != int64(i+1) {
				t.Errorf("change %d made epoch %d", i+1, s.Epoch())
			}
			at, ok := s.QuorumVotesAt()
			if wait := time.Until(at); !ok || wait <= s.Grace()-time.Second || wait > s.Grace() {
				t.Errorf("change %d: a quorum vouches in %v (known: %v), want one grace", i+1, wait, ok)
			}
			if err := s.Init(t.Context(), false); !errors.Is(err, locking.ErrRefused) {
				t.Errorf("the nodes of a list that was changed are declared new: %v", err)
			}
			time.Sleep(time.Hour)
			if r := s.Call(t.Context(), put, []string{s.Key("x")}, "v"); r[0].Err != nil {
				t.Errorf("the new list: %v", r[0].Err)
			}
			for _, r := range former.Call(t.Context(), put, []string{s.Key("x")}, "v") {
				if r.Err == nil {
					t.Errorf("change %d: %s still takes requests of the former list", i+1, r.Node)
				}
			}
			from, former = to, s
		}
	})
}

// A list that was left and taken up again is another one: a replica that was
// frozen through both changes is refused.
func TestFormerEpochIsRefused(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	first, other := l.of(1, 2, 3), l.of(1, 2, 4)
	sleeper := open(t, first)
	if err := sleeper.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustChange(t, first, other)
	l.Node(2).FlushAll()
	mustChange(t, other, first)
	for _, r := range sleeper.Call(t.Context(), put, []string{sleeper.Key("x")}, "v") {
		refused(t, r.Err, "list has epoch 2, this replica's 0", "restart the replica with the new configuration")
	}
}

// A replica that continues with the former list learns so, and is no longer ready; until
// then it is, and again when the list is its own once more.
func TestReplicaOfAFormerListIsTold(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	first := l.of(1, 2, 3)
	e := watch(&first)
	s := open(t, first)
	ready := func() bool {
		s.Call(t.Context(), put, []string{s.Key("x")}, "v")
		_, ok := s.QuorumVotesAt()
		return ok
	}
	if !ready() {
		t.Error("not ready before the change")
	}
	l.Node(0).HSet("{quorate}:node", "sealed_for", "feed")
	l.Node(1).HSet("{quorate}:node", "sealed_for", "feed")
	if ready() || len(s.Unusable()) != 2 || !strings.Contains(s.Unusable()[0].Error(), "sealed for a change") {
		t.Errorf("with two of three nodes sealed it is ready; not usable: %v", s.Unusable())
	}
	if got := strings.Count(e.String(), "warn node-1:6379 the node is sealed"); got != 1 || ready() {
		t.Errorf("told %d times, want once: %v", got, e)
	}
	s.Call(t.Context(), put.AcceptSealed(), []string{s.Key("x")}, "v")
	if _, ok := s.QuorumVotesAt(); ok {
		t.Error("a finish that was taken makes it ready")
	}
	l.Node(0).HDel("{quorate}:node", "sealed_for")
	if !ready() {
		t.Errorf("not ready again: %v", s.Unusable())
	}
}

// Nodes in both lists keep their data.
func TestChangeKeepsClaims(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	l.Node(0).HSet("{quorate}:job:j:claim", "fence", "7")
	mustChange(t, l.of(1, 2, 3), l.of(1, 4, 5))
	if got := l.Node(0).HGet("{quorate}:job:j:claim", "fence"); got != "7" {
		t.Errorf("the fence is %q now", got)
	}
}

// All obstacles to the change are found before the first node is sealed.
func TestChangeIsRefusedBeforeItBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		to   []int
		mend func(t *testing.T, l sixNodes, to *membership.Config)
		err  error
		want string
	}{
		{"the same list", []int{3, 2, 1}, nil, nil, "nothing to change"},
		{"another namespace", []int{1, 2, 4}, func(_ *testing.T, _ sixNodes, to *membership.Config) { to.Namespace = "other" }, nil, "change only redis.nodes"},
		{"another grace", []int{1, 2, 4}, func(_ *testing.T, _ sixNodes, to *membership.Config) { to.Grace = time.Minute }, nil, "restart_grace differs"},
		{"a node that serves another list", []int{1, 2, 4}, func(t *testing.T, l sixNodes, _ *membership.Config) {
			t.Helper()
			if err := open(t, l.of(4, 5, 6)).Join(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, locking.ErrRefused, "node-4:6379: it holds the list [node-4:6379 node-5:6379 node-6:6379] at epoch 0"},
		{"replicas of the new list came first", []int{4, 5, 6}, func(t *testing.T, _ sixNodes, to *membership.Config) {
			t.Helper()
			if err := open(t, *to).Join(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, locking.ErrRefused, "stop the replicas that use it and delete its keys"},
		{"a clock that is behind", []int{1, 2, 4}, func(_ *testing.T, l sixNodes, _ *membership.Config) {
			l.Node(3).SetTime(time.Now().Add(-6100 * time.Millisecond))
		}, locking.ErrRefused, "s behind that of node-"},
		{"no quorum of the new list", []int{1, 4, 5}, func(_ *testing.T, l sixNodes, _ *membership.Config) { l.Stop(3); l.Stop(4) }, locking.ErrNoQuorum, "of the new list must answer"},
		{"no quorum of the old list", []int{1, 4, 5}, func(_ *testing.T, l sixNodes, _ *membership.Config) { l.Stop(1); l.Stop(2) }, locking.ErrNoQuorum, "of the old list must hold it"},
		{"a blank node in the old list's quorum", []int{1, 4, 5}, func(_ *testing.T, l sixNodes, _ *membership.Config) {
			l.Node(1).FlushAll()
			l.Stop(2)
		}, locking.ErrNoQuorum, "of the old list must hold it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newSix(t)
			to := l.of(c.to...)
			if c.mend != nil {
				c.mend(t, l, &to)
			}
			said, err := change(t, l.of(1, 2, 3), to)
			if err == nil || !errors.Is(err, c.err) && c.err != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want one that says %q", err, c.want)
			}
			for i := range 3 {
				if l.Node(i).HGet("{quorate}:node", "sealed_for") != "" {
					t.Errorf("node %d was sealed: %q", i+1, said)
				}
			}
		})
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	before := l.Node(0).Dump()
	var said []string
	c := membership.Change{From: l.of(1, 2, 3), To: l.of(1, 4, 5), DryRun: true, Progress: func(text string) { said = append(said, text) }}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	says(t, said, "node-1:6379: would be sealed", "node-3:6379: would be sealed",
		"node-1:6379: would be opened with epoch 1, and keep its claims", "node-5:6379: would be opened with epoch 1, as a new node")
	if l.Node(0).Dump() != before || len(l.Node(3).Keys()) > 0 {
		t.Error("the dry run left something")
	}
}

// A sealed node grants nothing, names its new list, and is not sealed for another; a
// minority of such nodes does not block another change.
func TestSealsAreCompared(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	l.Stop(4)
	l.Stop(5) // the change to 4, 5, 6 would find no quorum, so its seals are made by hand
	seal := func(node int) {
		s := open(t, l.of(1, 2, 3))
		if err := membership.SealFor(t.Context(), s.Nodes()[node-1], l.of(4, 5, 6), 1); err != nil {
			t.Fatal(err)
		}
	}
	seal(2)
	old := open(t, l.of(1, 2, 3))
	refused(t, old.Call(t.Context(), put, []string{old.Key("x")}, "v")[1].Err, "sealed for a change to the list [node-4:6379 node-5:6379 node-6:6379]")
	for _, st := range old.Inspect(t.Context()) {
		if got := strings.Join(st.SealedFor, " "); (got == "node-4:6379 node-5:6379 node-6:6379") != (st.Name == "node-2:6379") {
			t.Errorf("%s is sealed for [%s]", st.Name, got)
		}
	}
	seal(3)
	_, err := change(t, l.of(1, 2, 3), l.of(1, 2, 4))
	refused(t, err, "node-2:6379: it is sealed for a change to the list [node-4:6379 node-5:6379 node-6:6379]", "node-3", "finish that one first")
	l.Node(2).HDel("{quorate}:node", "sealed_for") // as if it had never been sealed
	says(t, mustChange(t, l.of(1, 2, 3), l.of(1, 3, 4)),
		"node-2:6379: not sealed: it is sealed for the list [node-4:6379 node-5:6379 node-6:6379]", "2 of its 3 nodes are sealed")
}

// A node in both lists that did not answer is left behind; the others serve
// without it, until the change is run again.
func TestNodeThatMissedTheChange(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	l.Stop(0)
	from, to := l.of(1, 2, 3), l.of(1, 2, 3, 4, 5)
	says(t, mustChange(t, from, to), "node-1:6379: not sealed", "node-1:6379: not opened", "4 of its 5 nodes")
	l.Start(0, true)
	e := watch(&to)
	s := open(t, to)
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.String(), "warn node-1:6379 it was left behind by a change of the list") {
		t.Errorf("events: %v", e)
	}
	r := s.Call(t.Context(), put, []string{s.Key("x")}, "v")
	if refused(t, r[0].Err, "belongs to the list [node-1:6379 node-2:6379 node-3:6379]"); r[1].Err != nil {
		t.Errorf("another node: %v", r[1].Err)
	}
	says(t, mustChange(t, from, to), "node-1:6379: sealed", "node-1:6379: opened, epoch 1", "5 of its 5 nodes")
	if r := open(t, to); r.Join(t.Context()) != nil || r.Epoch() != 1 {
		t.Errorf("epoch %d", r.Epoch())
	}
}

// A new node that did not answer is formatted by the replicas, as of this epoch
// and with the wait that it would have had: until a grace after the latest time
// that the old nodes have shown.
func TestBlankNodesOfAChangedList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSix(t)
		defer l.Close()
		l.Stop(4)
		ahead := time.Now().Add(4 * time.Second)
		l.Node(0).SetTime(ahead)
		to := l.of(1, 2, 3, 4, 5)
		mustChange(t, l.of(1, 2, 3), to)
		l.Start(4, true)
		s := open(t, to)
		defer s.Close()
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, st := range s.Inspect(t.Context()) {
			if st.Epoch != 1 || st.Since.Before(ahead.Truncate(time.Millisecond)) {
				t.Errorf("%+v, want epoch 1, and since %v", st, ahead)
			}
		}
	})
}

// Run again, a change that is through has nothing to do.
func TestChangeAgain(t *testing.T) {
	t.Parallel()
	l := newSix(t)
	from, to := l.of(1, 2, 3), l.of(1, 4, 5)
	mustChange(t, from, to)
	before := l.Node(3).HGet("{quorate}:node", "since")
	says(t, mustChange(t, from, to), "node-1:6379: was opened before", "node-5:6379: was opened before, epoch 1")
	if l.Node(3).HGet("{quorate}:node", "since") != before {
		t.Error("it raised a since")
	}
	for i := range 3 {
		l.Stop(i) // the rest of the old list is switched off
	}
	l.Start(0, true)
	says(t, mustChange(t, from, to), "nodes of the new one were opened before")
}
