package difftest

import (
	"strconv"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/locking/redlock/nodetest"
)

// Times of the cluster: nothing of them ends within half a Step of a multiple of
// Leap, so whether a key has run out never depends on a few ms.
const (
	Grace = 5 * Step
	TTL   = 4 * Step
	Leap  = 3 * Step
)

// A Head is what a request says before the rule's own arguments; see head.lua.
type Head struct {
	Name, Members, Epoch, Grace, Format, Durable, Embedded, Sealed, TTL string
}

// Ours is the Head of a request of the cluster.
func Ours() Head {
	return Head{
		Name: "a:6379", Members: "hash", Epoch: "0", Grace: ms(Grace.Milliseconds()), Format: "1",
		Durable: "0", Embedded: "1", Sealed: "0", TTL: ms(TTL.Milliseconds()),
	}
}

// Draw returns a Head that seldom is wrong, and seldom durable.
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
		h.Format = "0"
	case 9:
		h.TTL = h.Grace
	case 10:
		h.TTL = "soon"
	}
	return h
}

// Args returns the arguments of a request.
func (h Head) Args(own ...string) []string {
	return append([]string{h.Name, h.Members, h.Epoch, h.Grace, h.Format, h.Durable, h.Embedded, h.Sealed, h.TTL}, own...)
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
		s.do(t, "HSET", NodeKey, "format", m.Format, "name", m.Name, "members", m.Members, "epoch", m.Epoch,
			"grace", m.Grace, "run_id", m.RunID, "since", m.Since, "embedded", m.Embedded, "names", m.Names)
		s.model.Member = &m
	}
}

// Restart makes the stored run_id another than the servers', as if they had
// been restarted since the last request.
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
