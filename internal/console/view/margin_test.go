package view_test

import (
	"testing"

	"github.com/quorate/quorate/internal/console/view"
)

// TestMargin: how many nodes may still be lost.
func TestMargin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		nodes []view.Node
		level view.Level
		text  string
	}{
		{nodesIn("voting", "voting", "voting", "voting", "voting"), "good", "5 of 5 nodes vote; 2 losses are fine."},
		{nodesIn("voting", "voting", "voting", "voting", "down"), "warn", "4 of 5 nodes vote (e is down); one more loss is fine."},
		{nodesIn("voting", "down", "voting"), "warn", "2 of 3 nodes vote (b is down); one more loss and no tick can start."},
		{nodesIn("voting", "down", "abstaining"), "bad", "1 of 3 nodes votes (b is down and c is abstaining): no quorum. No tick can start until 2 of them vote."},
		{nodesIn("voting", "voting", "slow", "slow", "slow"), "warn", "2 of 5 nodes vote (c is slow, d is slow and e is slow): some are slow to answer. No tick can start until 3 answer in time."},
		{nodesIn("voting", "voting", "voting", "slow", "slow"), "warn", "3 of 5 nodes vote (d is slow and e is slow); one more loss and no tick can start."},
		{nodesIn("voting", "slow", "down", "down", "down"), "bad", "1 of 5 nodes votes (b is slow, c is down, d is down and e is down): no quorum. No tick can start until 3 of them vote."},
		{nodesIn("abstaining", "voting", "abstaining"), "warn", "1 of 3 nodes votes (a is abstaining and c is abstaining): the nodes are new or have restarted. No tick can start until 2 of them vote."},
		{nil, "bad", "0 of 0 nodes vote: no quorum. No tick can start until 1 of them vote."},
		{nodesIn("voting"), "calm", "1 of 1 node votes; it is the only one: no tick starts while it is down."},
		{theStore("ready"), "calm", "The store is ready. There is only one: no tick starts while it is down."},
		{theStore("abstaining"), "warn", "The store is new, or another server has taken over: no tick starts before 02:00:20 UTC."},
		{theStore("refusing"), "bad", "The store refuses what ticks need: no tick can start."},
		{theStore("down"), "bad", "The store does not answer: no tick can start."},
		{nodesIn("down"), "bad", "0 of 1 node vote (a is down): no quorum. No tick can start until 1 of them vote."},
	} {
		got := view.MarginOf(tc.nodes)
		if got.Level != tc.level || got.Text != tc.text {
			t.Errorf("%v are\n%+v, want\n%s: %s", tc.nodes, got, tc.level, tc.text)
		}
	}
	if got := view.MarginOf(nodesIn("voting", "down", "voting")).Brief; got != "2 of 3 nodes vote; one more loss and no tick can start." {
		t.Errorf("in brief: %q", got)
	}
}

// Only nodes that are down can be started; new ones vote by themselves.
func TestMarginSaysWhatToDo(t *testing.T) {
	t.Parallel()
	fresh := nodesIn("abstaining", "abstaining", "abstaining", "abstaining", "abstaining")
	for i, at := range []string{"2026-12-01T02:00:20.250Z", "2026-12-01T02:00:50Z", "2026-12-01T02:00:10Z", "2026-12-01T02:00:30Z", "2026-12-01T02:00:40Z"} {
		fresh[i].VouchesAt = &at
	}
	for _, tc := range []struct {
		nodes []view.Node
		want  string
	}{
		{fresh, "They do by themselves after their grace, from 02:00:30 UTC on."},
		{nodesIn("voting", "down", "abstaining"), "Start the nodes that are down. A restarted node votes again after its grace. Until then running jobs lose their leases."},
		{nodesIn("voting", "blank", "refusing"), "quorate store check says what the nodes lack. A restarted node votes again after its grace. Until then running jobs lose their leases."},
	} {
		if got := view.MarginOf(tc.nodes).More; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// theStore returns the row of the only store.
func theStore(state string) []view.Node {
	until := "2026-12-01T02:00:20.250Z"
	return []view.Node{{Node: "db:5432/app", Kind: view.KindStore, State: state, VouchesAt: &until}}
}

// nodesIn returns nodes a, b and so on in the states.
func nodesIn(states ...string) []view.Node {
	var nodes []view.Node
	for i, s := range states {
		nodes = append(nodes, view.Node{Node: string(rune('a' + i)), State: s})
	}
	return nodes
}
