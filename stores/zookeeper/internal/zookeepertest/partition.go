package zookeepertest

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
)

// A partition is what stands before a member, to cut it off.
type partition struct {
	clients *proxytest.Proxy
	links   []link // to and from other members
}

// A link is how one member reaches another one. A member that another one calls to elect a
// leader may call back without it, so elections may know of members that are cut off. What is
// written passes links only.
type link struct {
	from, to         *Member
	quorum, election *proxytest.Proxy
}

// divisible puts proxies between all members, and before them.
func (e *Ensemble) divisible(tb testing.TB) {
	tb.Helper()
	for _, from := range e.Members {
		from.clients = proxytest.New(tb, from.SideAddr)
		from.Addr = from.clients.Addr()
		for _, to := range e.Members {
			if from != to {
				l := link{from, to, proxytest.New(tb, to.quorum), proxytest.New(tb, to.election)}
				from.links, to.links = append(from.links, l), append(to.links, l)
			}
		}
	}
}

// reaches returns where the member reaches another one.
func (m *Member) reaches(to *Member) (quorum, election string) {
	for _, l := range m.links {
		if l.from == m && l.to == to {
			return l.quorum.Addr(), l.election.Addr()
		}
	}
	return to.quorum, to.election
}

// Cut drops what passes between the member and others, and what passes between it and clients
// unless they stay. Who uses its SideAddr stays.
func (m *Member) Cut(_ testing.TB, clientsStay bool) {
	if !clientsStay {
		m.clients.BlackHole()
	}
	for _, l := range m.links {
		l.quorum.BlackHole()
		l.election.BlackHole()
	}
}

// Heal lets all pass again. A link between two members that are cut off passes when one is healed.
func (m *Member) Heal(testing.TB) {
	m.clients.Pass()
	m.clients.Break() // messages on open connections were lost
	for _, l := range m.links {
		l.quorum.Pass()
		l.quorum.Break()
		l.election.Pass()
		l.election.Break()
	}
}

// Leader is the place of the member that leads.
func (e *Ensemble) Leader(tb testing.TB) int {
	tb.Helper()
	for range 300 {
		for n, m := range e.Members {
			if m.Mode(tb) == "leader" {
				return n
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	tb.Fatal("ZooKeeper has no leader after 30 s")
	return 0
}

// SideServers are the addresses of all members where nobody is cut off.
func (e *Ensemble) SideServers() (list []string) {
	for _, m := range e.Members {
		list = append(list, m.SideAddr)
	}
	return list
}
