package cluster

import (
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A Checkup is the verdict on the store.
type Checkup struct {
	Rows   []view.Check
	Advice string // whether the next node may be restarted
	Silent error  // locking.ErrNoQuorum unless a quorum answers
	Unwell bool
}

// Judge returns the checkup of so many nodes.
func Judge(nodes int, c membership.Checkup) Checkup {
	judged := judgeRows(quorum.CheckRows(c))
	judged.Advice = advice(c, nodes)
	return judged
}

// judgeRows computes the checkup from its rows.
func judgeRows(rows []view.Check) Checkup {
	unwell := slices.ContainsFunc(rows, func(r view.Check) bool { return r.Verdict != "ok" })
	if len(rows) > 0 && rows[0].Kind == view.KindStore {
		one := []view.Node{{Kind: view.KindStore, State: rows[0].State}}
		return Checkup{Rows: rows, Silent: view.Quorate(one), Unwell: unwell}
	}
	c := Checkup{Rows: rows, Unwell: unwell, Advice: "no node may be restarted now: too few would vote; quorate nodes says until when"}
	nodes, answered := 0, 0
	for _, r := range rows {
		if r.Node == nil {
			continue
		}
		nodes++
		if view.Answers(r.State) {
			answered++
		}
		if r.MayRestart {
			c.Advice = advice(membership.Checkup{Next: *r.Node}, len(rows))
		}
	}
	if nodes == 1 {
		c.Advice = advice(membership.Checkup{}, 1)
	}
	c.Silent = view.QuorumOf(answered, nodes)
	return c
}

// advice says whether the next node may be restarted.
func advice(c membership.Checkup, size int) string {
	switch {
	case c.Next != "":
		return c.Next + " may be restarted now: a quorum votes without it. Then wait until every node is well"
	case !c.NextAt.IsZero():
		return "not before " + *view.Stamp(c.NextAt.Truncate(time.Second)) + ": until then too few nodes would vote"
	case size == 1:
		return "there is only one node: ticks are missed while it restarts, and for one restart_grace after"
	}
	return "no node may be restarted: too few would vote; fix the findings above first"
}
