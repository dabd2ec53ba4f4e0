package redlock

import (
	"context"
	"strings"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

// operatorRules are what operators ask of one node: a forced release and N8.
var operatorRules = []ruleCase{
	{"N6 evict takes the lock and leaves the claim", []string{
		"commit a 10 5", "evict a it hangs", "lock = free", "tombstone a = it hangs",
		"claim = fence=5 owner=a done=0 void=0 mode=0 attempt=1",
		"acquire b 10 = CLAIMED a:5@10", "commit b 20 5 = STALE fence=5 attempt=0",
	}},
	{"N6 evicted holder cannot extend, and finishes", []string{
		"commit a 10 5", "evict a it hangs", "extend a 10 5 = DEAD", "lock = free", "finish a 10 5 = RANOUT", "runs = Fa.5",
		"acquire b 10 = DONE a:5@10",
	}},
	{"N6 evicted holder leaves its successor alone", []string{
		"commit a 10 5", "evict a it hangs", "acquire b 20", "extend a 10 5 = DEAD", "lock = b", "commit b 20 6", "finish a 10 5 = LATE b:6@20", "lock = b",
	}},
	{"N6 evict leaves another's lock", []string{"acquire b 10", "evict a it hangs = NONE", "lock = b", "tombstone a = it hangs"}},
	{"N6 evicted attempt does not commit", []string{"acquire a 10", "evict a it hangs", "commit a 10 5 = DEAD", "lock = free"}},
	{"N6 evicted rerun is free for others", []string{
		"commit a 10 5 mode=1", "evict a it hangs", "acquire b 10 mode=1 = OK fence=5 attempt=1", "commit b 10 6 mode=1 attempt=2",
		"extend a 10 5 = DEAD", "lock = b",
	}},

	{"N8 forgotten ticks stay closed, in either mode", []string{
		"commit a 10 5 mode=1", "finish a 10 5", "drop", "keys = ",
		"acquire b 10 = LATER", "acquire b 10 mode=1 = LATER", "acquire b 5 = LATER",
		"commit b 10 6 attempt=2 = LATER", "commit b 10 6 attempt=2 mode=1 = LATER", "commit b 5 6 = LATER", "keys = ",
		"acquire b 11 = OK fence=5 attempt=0",
	}},
	{"N8 tokens go on growing", []string{
		"commit a 10 5", "finish a 10 5", "drop", "commit b 20 4 = STALE fence=5 attempt=0", "commit b 20 5 = STALE fence=5 attempt=0",
		"acquire b 20 = OK fence=5 attempt=0", "commit b 20 6 = OK fence=6 attempt=1",
	}},
	{"N8 a commit still under way is refused", []string{
		"commit a 10 5", "finish a 10 5", "drop", "commit a 10 5 = LATER", "lock = free", "keys = ",
	}},
	{"N8 not while somebody has the lock", []string{
		"acquire a 10", "drop = BUSY", "commit a 10 5", "drop = BUSY", "lock = a", "finish a 10 5", "drop", "drop = NONE",
	}},
	{"N8 nothing to forget", []string{"drop = NONE", "keys = "}},
	{"N8 of a job whose log alone has come", []string{"log", "drop", "keys = ", "commit a 10 5", "finish a 10 5"}},
	{"N8 of a run that never ended", []string{
		"commit a 10 5 mode=1", "expire", "drop", "extend a 10 5 = LOST", "lock = free", "acquire b 10 mode=1 = LATER", "finish a 10 5 = LATE",
	}},
	{"N8 of a plain lock", []string{
		"commit a - 5", "finish a - 5", "drop", "keys = ", "commit a - 5 = STALE fence=5 attempt=0", "extend a - 5 = LOST",
		"acquire b - = OK fence=5 attempt=0", "commit b - 6", "void b - 6", "acquire c 10 = OK fence=6 attempt=0",
	}},
	{"N8 a lock that comes back late is not extended", []string{
		"commit a - 5", "finish a - 5", "commit b - 6", "finish b - 6", "drop", "acquire a -", "lock = a", "extend a - 5 = LOST",
	}},
	{"N8 another stream of the name does not open the ticks again", []string{
		"commit a 10 5", "finish a 10 5", "drop", "commit b - 6", "finish b - 6", "acquire c 10 = LATER", "commit c 10 7 = LATER",
		"acquire c 11 = OK fence=6 attempt=0",
	}},
	{"N8 the marks only rise", []string{
		"commit a 10 5", "finish a 10 5", "name other", "commit b 20 9", "finish b 20 9", "drop", "name j", "drop",
		"acquire c 20 = LATER", "commit c 30 9 = STALE fence=9 attempt=0", "acquire c 21 = OK fence=9 attempt=0", "commit c 21 10",
	}},
	{"N8 a job that is kept goes by its own claim", []string{
		"commit a 10 5", "finish a 10 5", "name other", "commit b 20 9", "finish b 20 9", "drop", "name j",
		"acquire c 11 = OK fence=5 attempt=0", "commit c 11 6",
	}},
}

// evict is what an operator's forced release asks of the node.
func (r *rig) evict(args []string) string {
	r.t.Helper()
	keys := r.keys(args[0])
	return r.ask(evictScript, []string{keys[0], keys[2], keys[4]}, args[0], strings.Join(args[1:], " "), "")
}

// drop asks the node to forget the job.
func (r *rig) drop([]string) string {
	r.t.Helper()
	keys := r.keys("")
	return r.ask(forgetScript, []string{keys[0], keys[1], keys[3], r.set.JobKey(r.name, "notes"), r.set.JobKey(r.name, "logs"), keys[4]})
}

func (r *rig) ask(script *nodes.Script, keys []string, args ...any) string {
	r.t.Helper()
	reply := r.set.Nodes()[0].Call(context.Background(), script, keys, args...)
	r.check(reply.Err)
	return reply.Code
}

// tombstone is the text of v's tombstone, and whether it will outlast any pause
// between two extensions.
func (r *rig) tombstone(args []string) string {
	r.t.Helper()
	key := r.keys(args[0])[2]
	text, err := r.client.Get(r.t.Context(), key).Result()
	r.check(err)
	return text + r.expiry(key, 2*r.set.Grace())
}

// kept lists what the node keeps of the job.
func (r *rig) kept([]string) string {
	r.t.Helper()
	list, err := r.client.Keys(r.t.Context(), r.set.JobKey(r.name, "*")).Result()
	r.check(err)
	return strings.Join(list, " ")
}

// call makes the steps that follow about another name.
func (r *rig) call(args []string) string {
	r.name = args[0]
	return ""
}
