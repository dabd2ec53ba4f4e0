package listing_test

import (
	"testing"

	"github.com/quorate/quorate/internal/listing"
)

// TestMargins: the number of nodes that may still be lost is per group.
func TestMargins(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		nodes []listing.Node
		level listing.Level
		text  string
	}{
		{group("", "voting", "voting", "voting", "voting", "voting"), "good", "5 of 5 nodes vote; 2 losses are fine."},
		{group("", "voting", "voting", "voting", "voting", "down"), "warn", "4 of 5 nodes vote (e is down); one more loss is fine."},
		{group("", "voting", "down", "voting"), "warn", "2 of 3 nodes vote (b is down); one more loss and no tick can start."},
		{group("", "voting", "down", "abstaining"), "bad", "1 of 3 nodes votes (b is down and c is abstaining): no quorum. No tick can start until 2 of them vote."},
		{group("", "voting", "voting", "slow", "slow", "slow"), "warn", "2 of 5 nodes vote (c is slow, d is slow and e is slow): some are slow to answer. No tick can start until 3 answer in time."},
		{group("", "voting", "voting", "voting", "slow", "slow"), "warn", "3 of 5 nodes vote (d is slow and e is slow); one more loss and no tick can start."},
		{group("", "voting", "slow", "down", "down", "down"), "bad", "1 of 5 nodes votes (b is slow, c is down, d is down and e is down): no quorum. No tick can start until 3 of them vote."},
		{group("", "voting"), "calm", "1 of 1 node votes; it is the only one: no tick starts while it is down."},
		{group("north", "down"), "bad", "Cell north: 0 of 1 node vote (a is down): no quorum. No tick of its jobs can start until 1 of them vote."},
	} {
		got := listing.Margins(tc.nodes)
		if len(got) != 1 || got[0].Level != tc.level || got[0].Text != tc.text {
			t.Errorf("%v are\n%+v, want\n%s: %s", tc.nodes, got, tc.level, tc.text)
		}
	}
	if got := listing.Margins(group("", "voting", "down", "voting"))[0].Brief; got != "2 of 3 nodes vote; one more loss and no tick can start." {
		t.Errorf("in brief: %q", got)
	}
	two := listing.Margins(append(group("c1", "voting", "voting", "voting"), group("c2", "down", "down", "voting")...))
	if len(two) != 2 || two[0].Cell != "c1" || two[0].Level != "good" || two[1].Cell != "c2" || two[1].Level != "bad" {
		t.Errorf("two cells are %+v", two)
	}
	if listing.Margins(nil) != nil {
		t.Error("no nodes have a margin")
	}
}

// group returns nodes a, b and so on of a cell.
func group(cell string, states ...string) []listing.Node {
	var nodes []listing.Node
	for i, s := range states {
		nodes = append(nodes, listing.Node{Cell: listing.Optional(cell), Node: string(rune('a' + i)), State: s})
	}
	return nodes
}
