package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A verdict is the expected result of an operation.
type verdict string

const (
	works    verdict = "works"
	noQuorum verdict = "no quorum" // locking.ErrNoQuorum, and nothing was granted, extended or finished
	refused  verdict = "refused"   // locking.ErrRefused, and the same: the nodes have answered
)

// A fault is a way for a node to be of no use.
type fault struct {
	name  string
	what  string // happens, for the page
	spoil func(t *testing.T, s *redistest.Server, p *proxytest.Proxy)
	mend  func(t *testing.T, s *redistest.Server, p *proxytest.Proxy) // nil: it never comes back
	opts  []redistest.Option
	// asleep: calls run into their timeout.
	asleep bool
	// three has the expected results of acquire, extend and release with three faulty nodes
	// of five; with fewer, everything works.
	three [3]verdict
}

var (
	nothing    = [3]verdict{noQuorum, noQuorum, noQuorum}
	allRefused = [3]verdict{refused, refused, refused}
)

// matrixFaults are the eleven rows of the matrix.
func matrixFaults() []fault {
	return []fault{
		{
			name: "kill -9", what: "the process is gone, its port refuses",
			spoil: func(_ *testing.T, s *redistest.Server, _ *proxytest.Proxy) { s.Kill() },
			three: nothing,
		},
		{
			name: "SIGSTOP", what: "the process is frozen; the kernel takes connections and requests",
			spoil: func(_ *testing.T, s *redistest.Server, _ *proxytest.Proxy) { s.Freeze() },
			mend:  func(_ *testing.T, s *redistest.Server, _ *proxytest.Proxy) { s.Thaw() },
			three: nothing, asleep: true,
		},
		{
			name: "SYN black hole", what: "nobody answers a new connection, open ones are cut",
			spoil: func(t *testing.T, _ *redistest.Server, p *proxytest.Proxy) {
				if err := p.FillBacklog(); err != nil {
					t.Error(err)
				}
			},
			mend: pass, three: nothing, asleep: true,
		},
		{
			name: "accept, no reply", what: "connections are accepted, requests swallowed",
			spoil: func(_ *testing.T, _ *redistest.Server, p *proxytest.Proxy) { p.BlackHole() },
			mend:  pass, three: nothing, asleep: true,
		},
		{
			name: "RST in a reply", what: "the request is run, the reply cut by a reset after 7 bytes",
			spoil: func(_ *testing.T, _ *redistest.Server, p *proxytest.Proxy) { p.ResetReplies(7) },
			mend:  pass, three: nothing,
		},
		{
			name: "100 ms slow", what: "every reply is late, but within the timeout",
			spoil: func(_ *testing.T, _ *redistest.Server, p *proxytest.Proxy) { p.Delay(100 * time.Millisecond) },
			mend:  pass, three: [3]verdict{works, works, works},
		},
		{
			name: "LOADING", what: "the server is up and still reads its data",
			spoil: func(_ *testing.T, _ *redistest.Server, p *proxytest.Proxy) {
				p.Answer("-LOADING Redis is loading the dataset in memory")
			},
			mend: pass, three: nothing,
		},
		{
			name: "READONLY", what: "the server was made a replica of a master that is away",
			spoil: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) {
				command(t, s, "REPLICAOF", "127.0.0.1", "1")
			},
			mend: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) {
				command(t, s, "REPLICAOF", "NO", "ONE")
			},
			three: allRefused,
		},
		{
			name: "OOM", what: "maxmemory is reached; leases that are held can be extended and released",
			spoil: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) {
				command(t, s, "CONFIG", "SET", "maxmemory", "1")
			},
			mend: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) {
				command(t, s, "CONFIG", "SET", "maxmemory", "0")
			},
			three: [3]verdict{refused, works, works},
		},
		{
			name: "wrong password", what: "the password is changed while replicas run",
			spoil: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) {
				password(t, s, "changed")
				eventually(t, "the user's connections have ended", func() bool { // Redis ends them after its answer
					clients, err := s.Client().ClientList(t.Context()).Result()
					return err == nil && !strings.Contains(clients, "user=quorate ")
				})
			},
			mend:  func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) { password(t, s, "secret") },
			opts:  []redistest.Option{redistest.ACL("quorate", "secret", membership.ACLRules(membership.DefaultNamespace))},
			three: allRefused,
		},
		{
			name: "SCRIPT FLUSH", what: "the server has forgotten the scripts, and is sent them again",
			spoil: func(t *testing.T, s *redistest.Server, _ *proxytest.Proxy) { command(t, s, "SCRIPT", "FLUSH") },
			mend:  func(*testing.T, *redistest.Server, *proxytest.Proxy) {},
			three: [3]verdict{works, works, works},
		},
	}
}

func pass(_ *testing.T, _ *redistest.Server, p *proxytest.Proxy) { p.Pass() }

// command sends one to the server, past all faults.
func command(t *testing.T, s *redistest.Server, args ...any) {
	t.Helper()
	if err := s.Client().Do(t.Context(), args...).Err(); err != nil {
		t.Errorf("%v: %v", args, err)
	}
}

// password changes that of the replicas' user, and cuts the user's connections.
func password(t *testing.T, s *redistest.Server, word string) {
	t.Helper()
	command(t, s, "ACL", "SETUSER", "quorate", "resetpass", ">"+word)
	command(t, s, "CLIENT", "KILL", "USER", "quorate")
}
