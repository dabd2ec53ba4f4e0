package membership_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// The scripts of membership and the plain model of a node answer alike and store
// alike: formatted, declared new, sealed, opened, restarted in any order, by
// clients of the old list, the new one and others, of this format and of another one.
func TestMembershipAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	bench := difftest.New(t)
	bench.Check(t, func(rt *rapid.T) map[string]func(*rapid.T) {
		m := member{bench}
		return map[string]func(*rapid.T){
			"format": m.format, "init": m.init, "seal": m.seal, "open": m.open, "serve": m.serve, "try": m.try,
			"peek": m.peek, "peek too": m.peek, "old format": m.antiquate, "time": bench.Advances, "restart": m.restart,
		}
	})
}

type member struct{ *difftest.Bench }

// memberLists are the list before and after a change, and one that was never agreed.
var memberLists = []struct{ members, epoch string }{{"hash", "0"}, {"newer", "1"}, {"other", "1"}}

func (m member) call(rt *rapid.T, script *membership.Script, list int, sealed string, own ...string) {
	head := difftest.Ours()
	head.Members, head.Epoch, head.Sealed = memberLists[list].members, memberLists[list].epoch, sealed
	m.Call(rt, script, []string{difftest.NodeKey, "q:try"}, head.Draw(rt).Args(own...), nil)
}

// list draws a list, mostly the i-th.
func list(rt *rapid.T, i int) int {
	return rapid.SampledFrom([]int{i, i, i, i, 0, 1, 2}).Draw(rt, "list")
}

func (m member) format(rt *rapid.T) {
	m.call(rt, membership.Rule("format"), list(rt, 0), "0", strconv.Itoa(rapid.IntRange(0, 1).Draw(rt, "served")), "a:6379 c:6379", m.seals(rt))
}

// seals draws the clock of the seals: none, about now, too far ahead.
func (m member) seals(rt *rapid.T) string {
	now, grace := m.Now().UnixMilli(), difftest.Grace.Milliseconds()
	return strconv.FormatInt(rapid.SampledFrom([]int64{0, 0, now - 1000, now + 1000, now + grace/2, now + grace/2 + 1}).Draw(rt, "seals"), 10)
}

func (m member) init(rt *rapid.T) { m.call(rt, membership.Rule("init"), list(rt, 0), "0") }
func (m member) peek(rt *rapid.T) { m.call(rt, membership.Rule("peek"), list(rt, 0), "0") }
func (m member) try(rt *rapid.T)  { m.call(rt, membership.Rule("try"), list(rt, 0), "0") }
func (m member) serve(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "serve") == 0 {
		m.call(rt, serve, list(rt, 0), "0")
	}
}

func (m member) seal(rt *rapid.T) {
	to := memberLists[list(rt, 1)]
	m.call(rt, membership.Rule("seal"), list(rt, 0), "1", to.members+":"+to.epoch, "a:6379 d:6379")
}

func (m member) open(rt *rapid.T) {
	m.call(rt, membership.Rule("open"), list(rt, 1), "0", "a:6379 d:6379", m.seals(rt), memberLists[list(rt, 0)].members)
}

func (m member) antiquate(rt *rapid.T) {
	if rapid.IntRange(0, 5).Draw(rt, "old format") == 0 {
		m.Antiquate(rt)
	}
}

func (m member) restart(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "restart") == 0 {
		m.Loses(rt)
	}
}
