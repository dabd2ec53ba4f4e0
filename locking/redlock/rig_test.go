package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A rig runs the rules on one node, written as text:
//
//	acquire a 10            attempt a asks for the lock for tick 10
//	look - 10               somebody looks at tick 10
//	commit a 10 5           and that token 5 be accepted for it
//	extend a 10 5, finish a 10 5, abort a, void a 10
//
// with mode=1, attempt=2, tombstone=1 behind. Ticks are seconds and tokens are
// counted from a base of now; tick - is a plain lock. Answers read like
// "OK fence=5 attempt=1", "BUSY a:5@10" (owner, token, tick) or "ABSTAIN".
//
// Besides rules it knows the faults and questions below.
type rig struct {
	t      testing.TB
	set    *nodes.Set
	client *redis.Client // for looking around, and for faults
	base   time.Time
	token  uint64
	name   string // of the job
}

const rigKeep = 3 // records per job

func newRig(tb testing.TB, set *nodes.Set, client *redis.Client) *rig {
	tb.Helper()
	base := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	return &rig{t: tb, set: set, client: client, base: base, token: uint64(base.Unix()) << 20, name: "j"}
}

func (r *rig) do(step string) string {
	r.t.Helper()
	words := strings.Fields(step)
	if fault, ok := rigSteps[words[0]]; ok {
		return fault(r, words[1:])
	}
	opts := map[string]string{"mode": "0", "attempt": "1", "tombstone": "0"}
	var plain []string
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		} else {
			plain = append(plain, w)
		}
	}
	plain = append(plain, []string{"", "-", "0"}[len(plain):]...)
	return r.rule(words[0], plain[0], plain[1], plain[2], opts)
}

// rule sends one request as the Locker would.
func (r *rig) rule(name, v, tick, token string, opts map[string]string) string {
	r.t.Helper()
	stream, ms := streamPlain, any("")
	if tick != "-" {
		stream, ms = cmp.Or(opts["stream"], locking.StreamSchedule), r.ms(tick)
	}
	t := r.token + r.number(token)
	record := ""
	if tick != "-" {
		record = fmt.Sprintf("schedule|%s.%s", v, token)
	}
	if name == "look" {
		v = ""
	}
	args := []any{v, stream, ms, 5000, flagArg(opts["beside"] != "")}
	script := map[string]*nodes.Script{
		"acquire": acquireScript, "look": lookScript, "commit": commitScript, "extend": extendScript,
		"finish": finishScript, "abort": abortScript, "void": voidScript,
	}[name]
	switch name {
	case "acquire", "look":
		args = append(args, opts["mode"])
	case "commit":
		args = append(args, t, opts["mode"], opts["attempt"], "holder-"+v, rigKeep, record)
		if old, ok := opts["instead"]; ok {
			args = append(args, fmt.Sprintf("schedule|%s.%s", v, old))
		}
	case "extend":
		args = append(args, t)
	case "finish":
		args = append(args, t, rigKeep, record, record, opts["handover"])
	case "abort":
		args = append(args, opts["tombstone"])
	case "void":
		args = append(args, record)
	default:
		r.t.Fatalf("the rig knows no step %q", name)
	}
	reply := r.set.Nodes()[0].Call(context.Background(), script, r.keys(v), args...)
	if reply.Err != nil {
		return "ERR " + reply.Err.Error()
	}
	return r.describe(parse(reply))
}

func (r *rig) keys(v string) []string {
	return []string{r.set.JobKey(r.name, "lock"), r.set.JobKey(r.name, "claim"), r.set.Key("dead", v), r.set.JobKey(r.name, "runs"), r.set.JobKey(r.name, "shares")}
}

func (r *rig) describe(v vote) string {
	r.t.Helper()
	switch {
	case v.err != nil:
		return "ERR " + v.err.Error()
	case v.fence > 0:
		return fmt.Sprintf("%s fence=%d attempt=%d", v.code, int64(max(v.fence, r.token)-r.token), v.attempt)
	case v.token > 0:
		tick := "-"
		if !v.tick.IsZero() {
			tick = strconv.Itoa(int(v.tick.Sub(r.base).Seconds()))
		}
		if v.holder != "holder-"+v.owner { // every commit of the rig says so
			return fmt.Sprintf("%s %s is said to be %s", v.code, v.owner, v.holder)
		}
		return fmt.Sprintf("%s %s:%d@%s", v.code, v.owner, uint64(v.token)-r.token, tick)
	case v.owner != "":
		return v.code + " " + v.owner
	}
	return v.code
}

func (r *rig) number(s string) uint64 {
	r.t.Helper()
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		r.t.Fatalf("the rig cannot read %q: %v", s, err)
	}
	return n
}

func (r *rig) ms(tick string) int64 {
	r.t.Helper()
	n, err := strconv.Atoi(tick)
	if err != nil {
		r.t.Fatalf("the rig cannot read %q: %v", tick, err)
	}
	return r.base.Add(time.Duration(n) * time.Second).UnixMilli()
}

// rigSteps are faults, which answer "", and questions.
var rigSteps = map[string]func(r *rig, args []string) string{
	// what operators do, and how to look at it
	"evict": (*rig).evict, "drop": (*rig).drop, "tombstone": (*rig).tombstone, "keys": (*rig).kept,
	"shares": (*rig).shares, "lapse": (*rig).lapse, "age": (*rig).age, "fields": (*rig).fields, "oust": (*rig).oust,
	// name x: the steps that follow are about the job x, not j.
	"name": (*rig).call,
	// expire: the lock runs out.
	"expire": func(r *rig, _ []string) string { return r.del(r.keys("")[0]) },
	// forget a: the tombstone of a runs out.
	"forget": func(r *rig, args []string) string { return r.del(r.keys(args[0])[2]) },
	// log: a run's log is kept.
	"log": func(r *rig, _ []string) string {
		r.check(r.client.HSet(r.t.Context(), r.set.JobKey(r.name, "logs"), "index", "10.5 1\n", "10.5", "x").Err())
		return ""
	},
	// restart: the server says that it is another process.
	"restart": func(r *rig, _ []string) string {
		r.check(r.client.HSet(r.t.Context(), r.set.Key("node"), "run_id", "another").Err())
		return ""
	},
	// lock: who has it, and whether it will run out.
	"lock": func(r *rig, _ []string) string {
		owner, err := r.client.Get(r.t.Context(), r.keys("")[0]).Result()
		if errors.Is(err, redis.Nil) {
			return "free"
		}
		r.check(err)
		return owner + r.expiry(r.keys("")[0], 5*time.Second)
	},
	// dead a: whether a has a tombstone.
	"dead": func(r *rig, args []string) string {
		n, err := r.client.Exists(r.t.Context(), r.keys(args[0])[2]).Result()
		r.check(err)
		if n == 0 {
			return "no"
		}
		return "yes" + r.expiry(r.keys(args[0])[2], 10*time.Second)
	},
	// runs: the job's records, oldest tick first.
	"runs": func(r *rig, _ []string) string {
		list, err := r.client.ZRange(r.t.Context(), r.keys("")[3], 0, -1).Result()
		r.check(err)
		return strings.ReplaceAll(strings.Join(list, " "), "schedule|", "")
	},
	// claim: the fields that only the scripts read.
	"claim": func(r *rig, _ []string) string {
		c, err := r.client.HGetAll(r.t.Context(), r.keys("")[1]).Result()
		r.check(err)
		return fmt.Sprintf("fence=%d owner=%s done=%s void=%s mode=%s attempt=%s",
			r.number(c["fence"])-r.token, c["schedule.owner"], c["schedule.done"], c["schedule.void"], c["schedule.mode"], c["schedule.attempt"])
	},
}

func (r *rig) del(key string) string {
	r.check(r.client.Del(r.t.Context(), key).Err())
	return ""
}

// expiry is "" if the key runs out within most, and soon enough after the call
// that set it.
func (r *rig) expiry(key string, most time.Duration) string {
	left, err := r.client.PTTL(r.t.Context(), key).Result()
	r.check(err)
	if left <= most/2 || left > most {
		return fmt.Sprintf(" for %v", left)
	}
	return ""
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}
