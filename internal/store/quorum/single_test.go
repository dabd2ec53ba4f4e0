package quorum

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	quorumcommands "github.com/quorate/quorate/internal/store/quorum/commands"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A form is a way to have one Redis.
type form struct {
	name   string
	node   func(t *testing.T) membership.NodeConfig
	copies int
}

func forms() []form {
	return []form{
		{"alone", func(t *testing.T) membership.NodeConfig {
			t.Helper()
			return membership.NodeConfig{URL: redistest.Start(t).URL()}
		}, 0},
		{"sentinel", func(t *testing.T) membership.NodeConfig {
			t.Helper()
			master := redistest.Start(t)
			redistest.StartReplicas(t, master, 2)
			return membership.NodeConfig{Master: redistest.MasterName, Seeds: redistest.URLs(redistest.StartSentinels(t, master.Addr(), 2))}
		}, 2},
		{"cluster", func(t *testing.T) membership.NodeConfig {
			t.Helper()
			return membership.NodeConfig{Seeds: redistest.URLs(redistest.StartCluster(t, 1))}
		}, 1},
	}
}

// All kits pass on one Redis, however it is reached.
func TestSingle(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		if testing.Short() && f.name == "alone" { // as the other two, with less in the way
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			one := &single{node: f.node(t), copies: f.copies}
			for name, kit := range map[string]func(*testing.T){"locks": one.locks, "ledger": one.ledger, "archive": one.archive, "roster": one.roster, "acts": one.commands} {
				if testing.Short() && name == "locks" {
					continue // it waits for minutes
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					kit(t)
				})
			}
		})
	}
}

// A single is one Redis, and the number of namespaces that tests have had of it.
type single struct {
	node       membership.NodeConfig
	copies     int
	namespaces atomic.Int32
}

// connect opens a namespace that nobody has used, and declares it new.
func (s *single) connect(tb testing.TB, timeout time.Duration) func() *Cluster {
	tb.Helper()
	node := s.node
	node.Name = membership.SingleName
	cfg := membership.Config{
		Namespace: fmt.Sprint("n", s.namespaces.Add(1)), Nodes: []membership.NodeConfig{node}, Copies: s.copies,
		Timeout: timeout, TTL: 30 * time.Second, Grace: time.Minute,
	}
	open := func() *Cluster {
		tb.Helper()
		c, err := Open(cfg, nil)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = c.Close() })
		return c
	}
	// On a busy machine it may take longer than a call to find the server.
	fresh := open()
	redistest.Await(tb, "the store to be declared new", func(ctx context.Context) bool { return fresh.Set.Init(ctx, false) == nil })
	return func() *Cluster {
		tb.Helper()
		c := open()
		redistest.Await(tb, "the store to answer", func(ctx context.Context) bool { return c.Set.Join(ctx) == nil })
		return c
	}
}

func lockerOf(tb testing.TB, c *Cluster) locking.Locker {
	tb.Helper()
	l, err := redlock.New(c.Set, redlock.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

const (
	patience     = 7 * time.Second // of kits without leases, on a machine that may be busy
	shortTimeout = 500 * time.Millisecond
	shortLease   = 2100 * time.Millisecond // more than four of them
)

func (s *single) locks(t *testing.T) {
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB) func(string) locking.Locker {
			tb.Helper()
			open := s.connect(tb, shortTimeout)
			return func(string) locking.Locker { return lockerOf(tb, open()) }
		},
		Long: 20 * shortLease, Short: shortLease,
	})
}

func (s *single) ledger(t *testing.T)  { schedtest.RunLedger(t, s.backend()) }
func (s *single) archive(t *testing.T) { schedtest.RunArchive(t, s.backend()) }

func (s *single) backend() schedtest.LedgerBackend {
	return schedtest.LedgerBackend{
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			c := s.connect(tb, shortTimeout)()
			return lockerOf(tb, c), c.Ledger
		},
		Short: shortLease, Keep: jobs.MaxKeep,
	}
}

func (s *single) roster(t *testing.T) {
	schedtest.RunRoster(t, schedtest.RosterBackend{
		New: func(tb testing.TB) roster.Roster {
			tb.Helper()
			return quorumledger.New(s.connect(tb, patience)().Set)
		},
	})
}

func (s *single) commands(t *testing.T) {
	schedtest.RunCommands(t, schedtest.CommandsBackend{
		New: func(tb testing.TB) commands.Store {
			tb.Helper()
			return quorumcommands.New(s.connect(tb, patience)().Set)
		},
	})
}
