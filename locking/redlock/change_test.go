package redlock

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// changes are the changes of the list that the tests make, by the numbers of
// the nodes.
var changes = []struct {
	name     string
	from, to []int
}{
	{"3 to 5", []int{0, 1, 2}, []int{0, 1, 2, 3, 4}},
	{"5 to 3", []int{0, 1, 2, 3, 4}, []int{0, 1, 2}},
	{"one replaced", []int{0, 1, 2}, []int{0, 1, 3}},
	{"1 to 3", []int{0}, []int{0, 1, 2}},
	{"all replaced", []int{0, 1, 2}, []int{3, 4, 5}},
}

// A change of the list is cut off after any of its messages, with or without the last
// reply, and run again later. Meanwhile replicas of both lists claim. No tick runs twice
// and no token is given twice; in the end only the new list serves.
func TestChangeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, last reply lost: %v", c.name, lost), func(t *testing.T) {
				t.Parallel()
				// Before these only questions are asked.
				first, step := 2*(len(c.from)+len(c.to)), 1
				if !length.Whole() {
					first, step = first+1, 4
				}
				for after := first; ; after += step {
					all := false
					synctest.Test(t, func(t *testing.T) {
						w := newChangeWorld(t, c.from, c.to)
						defer w.close()
						all = w.cutOff(t, after, lost)
					})
					if all || t.Failed() {
						return
					}
				}
			})
		}
	}
}

// The last tick of the old list is not granted by the new one, which does not know it, for
// any clocks of the new nodes.
func TestChangeLeavesNoTickBehind(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		for _, behind := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%s, new nodes %v behind", c.name, behind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newChangeWorld(t, c.from, c.to)
					defer w.close()
					w.testLastTick(t, func() {
						for _, i := range c.to {
							if behind > 0 && !slices.Contains(c.from, i) {
								w.minis.Node(i).SetTime(time.Now().Add(-behind))
							}
						}
					})
				})
			})
		}
	}
}

// Requests to seal do not reach a quorum of the old list: nothing is opened, the old list
// continues, and the change can be run again.
func TestChangeWithoutSeals(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newChangeWorld(t, c.from, c.to)
				defer w.close()
				w.contend(t)
				time.Sleep(2 * changeEvery)
				deaf := w.from.Nodes[:len(c.from)/2+1]
				err := w.change(t, lossyWires{w.wires, func(node string, script *client.Script) bool {
					return script.Name() == "seal" && slices.ContainsFunc(deaf, func(n membership.NodeConfig) bool { return n.URL == "redis://"+node })
				}})
				if !errors.Is(err, locking.ErrNoQuorum) {
					t.Errorf("without seals: %v", err)
				}
				failed := time.Now()
				time.Sleep(w.from.Grace + 2*changeEvery)
				if w.granted("new", failed) > 0 {
					t.Error("the new list was opened")
				}
				w.finish(t)
			})
		})
	}
}

// Two changes to different lists that are begun at once: one of them may get
// through, and the list of the other is never opened.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newChangeWorld(t, c.from, c.to)
				defer w.close()
				rival := w.list([]int{c.from[0], 4, 5})
				w.contend(t)
				time.Sleep(2 * changeEvery)
				var mine, others error
				var both sync.WaitGroup
				both.Go(func() { mine = w.change(t, w.wires) })
				both.Go(func() {
					others = (membership.Change{From: w.from, To: rival}).Run(t.Context())
				})
				both.Wait()
				if mine == nil && others == nil {
					t.Error("both went through")
				}
				if mine == nil {
					w.finish(t)
					return
				}
				// The rival has won, or neither has: then it can be finished.
				if err := (membership.Change{From: w.from, To: rival}).Run(t.Context()); err != nil {
					t.Errorf("the other change: %v, and then %v", others, err)
				}
				if err := w.change(t, w.wires); err == nil {
					t.Error("a second list was opened")
				}
				w.halt()
				w.check(t)
			})
		})
	}
}
