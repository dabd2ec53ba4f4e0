package redlock

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

type ruleCase struct {
	name  string
	steps []string
}

// ruleCases is what protocol rules N2 to N6 demand of one node. A step reads
// "request = answer"; without an answer it is a fault or must answer OK, or what
// EXTEND says instead.
var ruleCases = []ruleCase{
	{"N2 lock is set with its ttl", []string{
		"acquire a 10 = OK fence=0 attempt=0", "lock = a", "acquire a 10", "lock = a",
	}},
	{"N2.1 tombstone refuses", []string{
		"abort a tombstone=1", "dead a = yes", "acquire a 10 = DEAD", "lock = free",
	}},
	{"N2.1 tombstone refuses, whoever has the lock or a share", []string{
		"acquire b 10", "abort a tombstone=1", "acquire a 10 = DEAD", "lock = b",
		"abort b", "acquire c 20 beside=1", "acquire a 10 beside=1 = DEAD", "acquire b 20 = BUSY c", "acquire b 10 beside=1",
	}},
	{"N2.1 restarted node abstains", []string{
		"restart", "acquire a 10 = ABSTAIN", "acquire a - = ABSTAIN", "lock = free",
	}},
	{"N2.1 tick ahead of the node", []string{
		"acquire a 590 = OK fence=0 attempt=0", "abort a", "acquire a 660 = FUTURE", "lock = free",
	}},
	{"N2.2 later tick is claimed", []string{
		"commit a 20 5", "acquire b 10 = LATER a:5@20", "finish a 20 5", "acquire b 10 = LATER a:5@20",
	}},
	{"N2.2 tick is done", []string{
		"commit a 10 5", "finish a 10 5", "acquire b 10 = DONE a:5@10", "acquire b 10 mode=1 = DONE a:5@10",
	}},
	{"N2.2 tick is claimed", []string{
		"commit a 10 5", "acquire b 10 = CLAIMED a:5@10", "expire", "acquire b 10 = CLAIMED a:5@10",
	}},
	{"N2.2 voided tick is free", []string{
		"commit a 10 5", "void a 10 5", "acquire b 10 = OK fence=5 attempt=1",
	}},
	{"N2.2 rerun mode waits for the lock", []string{
		"commit a 10 5 mode=1", "acquire b 10 mode=1 = BUSY a:5@10",
		"expire", "acquire b 10 mode=1 = OK fence=5 attempt=1",
	}},
	{"N2.2 of stored and requested mode the stricter counts", []string{
		"commit a 10 5 mode=1", "expire", "acquire b 10 mode=0 = CLAIMED a:5@10",
		"commit a 20 6 mode=0", "expire", "acquire b 20 mode=1 = CLAIMED a:6@20",
	}},
	{"N2.3 lock of a competitor", []string{"acquire a 10", "acquire b 10 = BUSY a", "lock = a"}},
	{"N2.3 lock of a run", []string{"commit a 10 5", "acquire b 20 = BUSY a:5@10"}},
	{"N2.3 lock of a competitor after a run", []string{
		"commit a 10 5", "finish a 10 5", "acquire b 20", "acquire c 20 = BUSY b",
	}},
	{"N2.3 attempts are those of the tick", []string{
		"commit a 10 5 attempt=3", "finish a 10 5", "acquire b 20 = OK fence=5 attempt=0",
	}},

	{"N9 says what ACQUIRE would, and sets nothing", []string{
		"look - 10 = OK fence=0 attempt=0", "lock = free", "acquire a 10", "look - 10 = BUSY a", "lock = a", "commit a 10 5",
		"look - 10 = CLAIMED a:5@10", "look - 5 = LATER a:5@10", "look - 20 = BUSY a:5@10", "look - - = BUSY a:5@10",
		"expire", "look - 10 = CLAIMED a:5@10", "look - 20 = OK fence=5 attempt=0", "lock = free",
		"finish a 10 5 = RANOUT", "look - 10 = DONE a:5@10", "look - 660 = FUTURE", "restart", "look - 10 = ABSTAIN",
	}},
	{"N9 a void claim is no obstacle", []string{
		"commit a 10 5", "void a 10 5", "look - 10 = OK fence=5 attempt=1",
	}},
	{"N9 of stored and requested mode the stricter counts", []string{
		"commit a 10 5 mode=1", "look - 10 mode=1 = BUSY a:5@10", "look - 10 = CLAIMED a:5@10", "expire",
		"look - 10 mode=1 = OK fence=5 attempt=1", "look - 10 = CLAIMED a:5@10", "void a 10 5", "look - 10 = CLAIMED a:5@10",
	}},

	{"N3.1 tombstone refuses", []string{
		"acquire a 10", "void a 10 5", "commit a 10 5 = DEAD", "lock = free", "runs = ",
	}},
	{"N3.1 restarted node abstains", []string{
		"acquire a 10", "restart", "commit a 10 5 = ABSTAIN", "commit a - 5 = ABSTAIN",
	}},
	{"N3.1 tick or token ahead of the node", []string{
		"commit a 660 5 = FUTURE", "commit a 10 1048576000 = FUTURE", "commit a 10 9007199254740991 = FUTURE", "lock = free",
	}},
	{"N3.2 asked again", []string{
		"commit a 10 5", "commit a 10 5 = OK fence=5 attempt=1", "lock = a", "runs = Sa.5",
		"expire", "commit a 10 5", "lock = a",
	}},
	{"N3.2 asked again while another has the lock", []string{
		"commit a 10 5", "expire", "acquire b 20", "commit a 10 5 = OK fence=5 attempt=1", "lock = b",
	}},
	{"N3.2 not after void", []string{
		"commit a 10 5", "void a 10 5", "forget a", "commit a 10 5 = STALE fence=5 attempt=1",
	}},
	{"N3.4 another has the lock", []string{"acquire a 10", "expire", "acquire b 10", "commit a 10 5 = LOST b"}},
	{"N3.3 the tick is told before the lock", []string{
		"commit a 20 5", "commit b 20 6 = CLAIMED a:5@20", "commit b 10 6 = LATER a:5@20", "commit b 30 6 = LOST a:5@20",
	}},
	{"N3.4 lock ran out", []string{"acquire a 10", "expire", "commit a 10 5", "lock = a"}},
	{"N3.3 later tick", []string{"commit a 20 5", "finish a 20 5", "commit b 10 6 = LATER a:5@20"}},
	{"N3.3 done", []string{"commit a 10 5", "finish a 10 5", "commit b 10 6 = DONE a:5@10", "commit b 10 6 mode=1 = DONE a:5@10"}},
	{"N3.3 claimed", []string{
		"commit a 10 5", "expire", "commit b 10 6 = CLAIMED a:5@10", "commit b 10 6 mode=1 attempt=2 = CLAIMED a:5@10",
	}},
	{"N3.3 claimed in rerun mode, by a strict request", []string{
		"commit a 10 5 mode=1", "expire", "commit b 10 6 attempt=2 = CLAIMED a:5@10",
	}},
	{"N3.3 own claim is no obstacle to a larger token", []string{
		"commit a 10 5", "commit a 10 7 instead=5 = OK fence=7 attempt=1", "runs = Sa.7",
	}},
	{"N3.5 token is not above the fence", []string{
		"commit a 10 5", "finish a 10 5", "commit b 20 5 = STALE fence=5 attempt=0",
		"commit b 20 4 = STALE fence=5 attempt=0", "commit b 20 6 = OK fence=6 attempt=1",
	}},
	{"N3.6 attempt is not above the stored one", []string{
		"commit a 10 5 mode=1", "expire", "commit b 10 6 mode=1 = STALE fence=5 attempt=1",
		"commit b 10 6 mode=1 attempt=2 = OK fence=6 attempt=2",
	}},
	{"N2.2, N3.3 void rerun may hide a run from a strict request", []string{
		"commit a 10 5 mode=1", "expire", "commit b 10 6 mode=1 attempt=2", "void b 10 6",
		"acquire c 10 = CLAIMED b:6@10", "commit c 10 7 attempt=3 = CLAIMED b:6@10",
		"acquire c 10 mode=1 = OK fence=6 attempt=2", "commit c 10 7 mode=1 attempt=3",
	}},
	{"N3.6 attempt of a void claim stays used", []string{
		"commit a 10 5 mode=1", "void a 10 5", "commit b 10 6 mode=1 = STALE fence=5 attempt=1",
		"commit b 10 6 mode=1 attempt=2",
	}},
	{"N3.7 unfinished claim is kept", []string{
		"commit a 10 5", "expire", "commit b 20 6", "runs = Sa.5 Sb.6",
		"claim = fence=6 owner=b done=0 void=0 mode=0 attempt=1",
	}},
	{"N3.7 void and done are of the old claim", []string{
		"commit a 10 5", "void a 10 5", "commit b 10 6 attempt=2 mode=1",
		"claim = fence=6 owner=b done=0 void=0 mode=1 attempt=2",
		"finish b 10 6", "commit c 20 7", "claim = fence=7 owner=c done=0 void=0 mode=0 attempt=1",
	}},
	{"N3.7 records are bounded", []string{
		"commit a 10 1", "finish a 10 1", "commit b 20 2", "finish b 20 2", "commit c 30 3", "finish c 30 3",
		"commit d 40 4", "runs = Fa.1 Fb.2 Fc.3 Sd.4", "finish d 40 4", "runs = E Fb.2 Fc.3 Fd.4",
	}},
	{"N3.7 records of runs without a finish are bounded", []string{
		"commit a 10 1", "expire", "commit b 20 2", "expire", "commit c 30 3", "expire",
		"commit d 40 4", "runs = E Sb.2 Sc.3 Sd.4", "expire", "commit e 50 5", "runs = E Sc.3 Sd.4 Se.5",
	}},

	{"N4 renews", []string{"commit a 10 5", "extend a 10 5 = RENEWED", "lock = a"}},
	{"N4 sets the lock again", []string{"commit a 10 5", "expire", "extend a 10 5 = SET", "lock = a", "extend a 10 5 = RENEWED"}},
	{"N4 tells that the lock had gone after somebody who leaves no fence", []string{
		"commit a - 5", "expire", "acquire b -", "extend a - 5 = LOST b", "abort b", "extend a - 5 = SET", "lock = a",
	}},
	{"N4 not for another token", []string{"commit a 10 5", "expire", "extend a 10 6 = LOST a:5@10", "lock = free"}},
	{"N4 not for another owner", []string{"commit a 10 5", "expire", "extend b 10 5 = LOST a:5@10", "lock = free"}},
	{"N4 not against another's lock", []string{"commit a 10 5", "expire", "acquire b 20", "extend a 10 5 = LOST b", "lock = b"}},
	{"N4 not once another has run", []string{
		"commit a 10 5", "expire", "commit b 20 6", "finish b 20 6", "extend a 10 5 = LOST b:6@20", "lock = free",
	}},
	{"N4 not once superseded, though a late request brought the lock back", []string{
		"commit a 10 5 mode=1", "expire", "commit b 10 6 mode=1 attempt=2", "expire",
		"acquire a 10 mode=1", "lock = a", "extend a 10 5 = LOST b:6@10",
	}},
	{"N4 renews on a restarted node that remembers", []string{
		"commit a 10 5", "restart", "extend a 10 5 = RENEWED", "lock = a",
	}},
	{"N4 not when done", []string{"commit a 10 5", "finish a 10 5", "extend a 10 5 = LOST a:5@10", "lock = free"}},
	{"N4 not when void", []string{
		"commit a 10 5", "void a 10 5", "extend a 10 5 = DEAD", "forget a", "extend a 10 5 = LOST a:5@10", "lock = free",
	}},
	{"N4 not on a restarted node", []string{
		"commit a 10 5", "restart", "extend a 10 5", "expire", "extend a 10 5 = LOST a:5@10",
	}},

	{"N5 done", []string{
		"commit a 10 5", "finish a 10 5", "lock = free", "runs = Fa.5", "claim = fence=5 owner=a done=1 void=0 mode=0 attempt=1",
		"finish a 10 5", "runs = Fa.5",
	}},
	{"N5 the lock had run out", []string{
		"commit a 10 5", "expire", "finish a 10 5 = RANOUT", "runs = Fa.5", "claim = fence=5 owner=a done=1 void=0 mode=0 attempt=1",
		"acquire b 10 = DONE a:5@10",
	}},
	{"N5 the lock had run out and is a competitor's", []string{
		"commit a 10 5", "expire", "acquire b 20", "finish a 10 5 = RANOUT", "lock = b", "commit b 20 6", "finish b 20 6 = OK",
	}},
	{"N5 asked again says the same", []string{
		"commit a 10 5", "finish a 10 5 = OK", "finish a 10 5 = OK",
		"commit b 20 6", "expire", "finish b 20 6 = RANOUT", "finish b 20 6 = RANOUT",
		"commit c 30 7", "finish c 30 7 = OK",
	}},
	{"N5 late", []string{
		"commit a 10 5", "expire", "commit b 20 6", "finish a 10 5 = LATE b:6@20", "lock = b", "runs = La.5 Sb.6",
		"claim = fence=6 owner=b done=0 void=0 mode=0 attempt=1",
	}},
	{"N5 at a node that missed the commit", []string{
		"acquire a 10", "finish a 10 5 = LATE", "lock = free", "runs = La.5",
	}},
	{"N5 late after another stream", []string{
		"commit a 10 5", "expire", "commit b 10 6 stream=manual", "finish b 10 6 stream=manual", "finish a 10 5 = LATE b:6@10",
		"runs = Fb.6 La.5", "finish a 10 5 = LATE b:6@10", "acquire c 10 = DONE a:5@10", "acquire c 10 stream=manual = DONE b:6@10",
	}},
	{"N5 handover ends the claim, and a rerun may follow at once", []string{
		"commit a 10 5 mode=1", "finish a 10 5 handover=1 = OK", "lock = free", "runs = Fa.5",
		"claim = fence=5 owner=a done=2 void=0 mode=1 attempt=1", "acquire b 10 mode=0 = CLAIMED a:5@10",
		"look - 10 mode=1 = OK fence=5 attempt=1", "acquire b 10 mode=1 = OK fence=5 attempt=1", "commit b 10 6 mode=1 attempt=2 = OK fence=6 attempt=2",
		"claim = fence=6 owner=b done=0 void=0 mode=1 attempt=2", "finish b 10 6", "acquire c 10 mode=1 = DONE b:6@10",
	}},
	{"N5 handover of a tick that runs at most once frees nothing", []string{
		"commit a 10 5", "finish a 10 5 handover=1", "acquire b 10 = CLAIMED a:5@10", "acquire b 10 mode=1 = CLAIMED a:5@10", "acquire b 20",
	}},
	{"N5 after a handover late requests of its owner find a tombstone", []string{
		"commit a 10 5 mode=1", "finish a 10 5 handover=1", "dead a = yes",
		"acquire a 10 mode=1 = DEAD", "commit a 10 5 mode=1 = DEAD", "extend a 10 5 = DEAD", "lock = free",
	}},
	{"N5 handover asked again says the same, and stays what it was", []string{
		"commit a 10 5 mode=1", "finish a 10 5 handover=1 = OK", "finish a 10 5 handover=1 = OK", "finish a 10 5 = OK",
		"claim = fence=5 owner=a done=2 void=0 mode=1 attempt=1",
		"commit b 20 6 mode=1", "expire", "finish b 20 6 handover=1 = RANOUT", "finish b 20 6 handover=1 = RANOUT",
		"commit c 30 7 mode=1", "finish c 30 7", "finish c 30 7 handover=1 = OK", "acquire d 30 mode=1 = DONE c:7@30",
	}},
	{"N5 late handover", []string{
		"commit a 10 5 mode=1", "expire", "commit b 20 6 mode=1", "finish a 10 5 handover=1 = LATE b:6@20", "lock = b", "runs = La.5 Sb.6",
	}},
	{"N5 of another token of the same owner", []string{"commit a 10 5", "finish a 10 6 = LATE a:5@10"}},

	{"N6 abort frees the own lock", []string{"acquire a 10", "abort a", "lock = free", "dead a = no"}},
	{"N6 abort leaves another's lock", []string{"acquire a 10", "abort b", "lock = a"}},
	{"N6 tombstone stops what is still on its way", []string{
		"abort a tombstone=1", "acquire a 10 = DEAD", "commit a 10 5 = DEAD", "extend a 10 5 = DEAD", "lock = free",
	}},
	{"N6 void frees the tick and nothing else", []string{
		"commit a 10 5", "void a 10 5", "lock = free", "dead a = yes", "runs = ",
		"claim = fence=5 owner=a done=0 void=1 mode=0 attempt=1",
		"acquire b 5 = LATER a:5@10", "commit b 10 5 attempt=2 = STALE fence=5 attempt=1", "commit b 10 6 attempt=2",
	}},
	{"N6 void comes too late for a finish", []string{
		"commit a 10 5", "finish a 10 5", "void a 10 5", "acquire b 10 = DONE a:5@10", "runs = Fa.5",
		"claim = fence=5 owner=a done=1 void=0 mode=0 attempt=1",
	}},
	{"N6 void leaves another's claim", []string{
		"commit a 10 5", "expire", "commit b 20 6", "void a 10 5", "lock = b", "runs = Sb.6",
		"claim = fence=6 owner=b done=0 void=0 mode=0 attempt=1",
	}},
	{"N6 a commit that arrives after void and tombstone", []string{
		"void a 10 5", "forget a", "commit a 10 5 = OK fence=5 attempt=1",
	}},

	{"plain lock", []string{
		"acquire a -", "acquire b - = BUSY a", "commit a - 5", "acquire b - = BUSY a:5@-",
		"commit a - 5 = OK fence=5 attempt=0", "extend a - 5", "expire", "extend a - 5", "lock = a",
		"finish a - 5", "lock = free", "runs = ", "extend a - 5 = LOST a:5@-",
		"acquire b -", "commit b - 5 = STALE fence=5 attempt=0", "commit b - 6", "void b - 6", "lock = free",
		"commit a - 7 = OK fence=7 attempt=1",
	}},
	{"plain lock and ticks share lock and fence", []string{
		"commit a - 5", "acquire b 10 = BUSY a:5@-", "finish a - 5", "commit b 10 5 = STALE fence=5 attempt=0",
		"commit b 10 6", "acquire c - = BUSY b:6@10",
	}},
}

// patience is what a node has to answer in where none is down, on a machine that
// may be busy.
const patience = 5 * time.Second

// runRules runs every case on a fresh namespace of one node.
func runRules(t *testing.T, open func(t *testing.T) *rig) {
	t.Helper()
	for _, tt := range slices.Concat(ruleCases, operatorRules, besideRules) {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t)
			for i, s := range tt.steps {
				step, want, asked := strings.Cut(s, " = ")
				if got := r.do(step); asked && got != want {
					t.Fatalf("step %d, %s: %q, want %q", i+1, step, got, want)
				} else if !asked && !slices.Contains([]string{"", codeOK, codeRenewed, codeSet}, got) && !strings.HasPrefix(got, "OK ") {
					t.Fatalf("step %d, %s: %q", i+1, step, got)
				}
			}
		})
	}
}

func TestRulesOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.ACL("quorate", "secret", nodes.ACLRules("quorate")))
	n := 0
	runRules(t, func(t *testing.T) *rig {
		t.Helper()
		n++
		c := newCluster(t, []string{server.URL()}, func(cfg *nodes.Config) {
			inNamespace(n)(cfg)
			cfg.Timeout = patience
		})
		return newRig(t, c.open(t), server.Client())
	})
}

func TestRulesOnMiniredis(t *testing.T) {
	t.Parallel()
	runRules(t, func(t *testing.T) *rig {
		t.Helper()
		minis := redistest.MiniN(t, 1)
		c := newCluster(t, minis.URLs(), func(cfg *nodes.Config) {
			cfg.Dial, cfg.Embedded, cfg.Timeout = minis.Dial, true, patience
		})
		client := redis.NewClient(&redis.Options{
			Addr: "node-1:6379", Dialer: minis.Dial, Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		t.Cleanup(func() { _ = client.Close() })
		return newRig(t, c.open(t), client)
	})
}
