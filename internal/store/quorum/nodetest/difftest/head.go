package difftest

import (
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/internal/store/quorum/nodetest"
)

// Times of the cluster. Nothing ends within half a Step of a multiple of Leap, so a few
// ms never decide whether a key has expired.
const (
	Grace = 5 * Step
	TTL   = 4 * Step
	Leap  = 3 * Step
)

// A Head is the part of a request before the rule's own arguments; see header.lua.
type Head struct {
	Name, Members, Epoch, Grace, Format, Durable, Embedded, Sealed, TTL string
}

// Ours is the Head of a request of the cluster.
func Ours() Head {
	return Head{
		Name: "a:6379", Members: "hash", Epoch: "0", Grace: ms(Grace.Milliseconds()), Format: "2",
		Durable: "0", Embedded: "1", Sealed: "0", TTL: ms(TTL.Milliseconds()),
	}
}

// Draw returns a Head that is rarely wrong, and rarely durable.
func (h Head) Draw(t *rapid.T) Head {
	switch rapid.IntRange(0, 60).Draw(t, "head") {
	case 1:
		h.Durable = "1"
	case 2:
		h.Embedded = "0"
	case 3:
		h.Sealed = "1"
	case 4:
		h.Name = "b:6379"
	case 5:
		h.Members = "other"
	case 6:
		h.Epoch = "1"
	case 7:
		h.Grace = "7"
	case 8:
		h.Format = "3"
	case 9:
		h.TTL = h.Grace
	case 10:
		h.TTL = "soon"
	}
	return h
}

// Args returns the arguments of a request.
func (h Head) Args(own ...string) []string {
	var letters strings.Builder
	for _, flag := range [][2]string{{h.Durable, "d"}, {h.Embedded, "e"}, {h.Sealed, "s"}} {
		if flag[0] == "1" {
			letters.WriteString(flag[1])
		}
	}
	node := strings.Join([]string{h.Name, h.Members, h.Epoch, h.Grace, h.Format}, " ")
	return append([]string{node, h.Grace, letters.String(), h.TTL}, own...)
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }

// Join makes all sides members of the cluster that never served.
func (b *Bench) Join(t T) {
	t.Helper()
	h := Ours()
	for _, s := range b.sides {
		m := nodetest.Member{
			Format: h.Format, Name: h.Name, Members: h.Members, Epoch: h.Epoch, Grace: h.Grace,
			RunID: s.runID, Since: "0", Embedded: bit(s.infoError != ""), Names: "a:6379 c:6379",
		}
		if s.infoError != "" {
			m.RunID = "embedded"
		}
		s.do(t, "HSET", NodeKey, "member", member(m), "run_id", m.RunID, "since", m.Since, "embedded", m.Embedded, "names", m.Names)
		s.model.Member = &m
	}
}

// member is the value that nodes compare requests with.
func member(m nodetest.Member) string {
	return strings.Join([]string{m.Name, m.Members, m.Epoch, m.Grace, m.Format}, " ")
}

// Antiquate converts the records of all sides to format 1, which had other fields.
func (b *Bench) Antiquate(t T) {
	t.Helper()
	b.Do(t, func(n *nodetest.Node) {
		if n.Member != nil {
			n.Member.Format, n.Member.Name, n.Member.Members, n.Member.Epoch, n.Member.Grace = "", "", "", "", ""
		}
	}, "HDEL", NodeKey, "member")
}

// Restart changes the stored run_id, as if the servers had been restarted.
func (b *Bench) Restart(t T) {
	t.Helper()
	for _, s := range b.sides {
		if s.model.Member == nil {
			continue // one side may have refused what made the other a member
		}
		s.do(t, "HSET", NodeKey, "run_id", "another")
		s.model.Member.RunID = "another"
	}
}
