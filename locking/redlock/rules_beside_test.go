package redlock

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// besideRules are what attempts that run beside one another (beside=1) are answered.
// Steps:
//
//	shares               who has shares that count, with their ticks
//	lapse                all shares run out
//	oust a 10 …          an operator's release of the share that a has of tick 10
var besideRules = []ruleCase{
	{"N3 several ticks beside one another", []string{
		"acquire a 10 beside=1", "commit a 10 5 beside=1", "acquire b 20 beside=1 = OK fence=5 attempt=0", "commit b 20 6 beside=1",
		"shares = a@10 b@20", "lock = free", "extend a 10 5 beside=1 = RENEWED", "extend b 20 6 beside=1 = RENEWED",
		"finish a 10 5 beside=1 = OK", "claim = fence=6 owner=b done=0 void=0 mode=0 attempt=1", "shares = b@20",
		"finish b 20 6 beside=1 = OK", "shares = ", "runs = Fa.5 Fb.6",
	}},
	{"N2.3 one attempt per tick", []string{
		"acquire a 10 beside=1", "acquire b 10 beside=1 = BUSY a", "acquire b 10 beside=1 stream=manual = OK fence=0 attempt=0",
		"commit b 10 5 beside=1 = LOST a",
	}},
	{"N2.2 ticks are claimed in order", []string{
		"commit b 20 6 beside=1", "acquire a 10 beside=1 = LATER b:6@20", "commit a 10 7 beside=1 = LATER b:6@20",
	}},
	{"N3.5 tokens grow", []string{"commit a 10 5 beside=1", "commit b 20 5 beside=1 = STALE fence=5 attempt=0"}},
	{"N2.3 who wants the lock waits for all shares", []string{
		"commit a 10 5 beside=1", "commit b 20 6 beside=1", "acquire c 30 = BUSY a:5@10", "commit c 30 7 = LOST a:5@10",
		"finish a 10 5 beside=1", "acquire c 30 = BUSY b:6@20", "finish b 20 6 beside=1", "acquire c 30", "commit c 30 7",
	}},
	{"N2.3 shares wait for the lock", []string{
		"commit a 10 5", "acquire b 20 beside=1 = BUSY a:5@10", "commit b 20 6 beside=1 = LOST a:5@10",
		"finish a 10 5", "acquire b 20 beside=1",
	}},
	{"N4 a share is set again while nothing was claimed since", []string{
		"commit a 10 5 beside=1", "lapse", "extend a 10 5 beside=1 = SET", "shares = a@10",
		"lapse", "commit b 20 6 beside=1", "extend a 10 5 beside=1 = LOST b:6@20", "shares = b@20",
	}},
	{"N4 not while somebody has the lock", []string{
		"commit a 10 5 beside=1", "lapse", "acquire b 20", "extend a 10 5 beside=1 = LOST b",
	}},
	{"N4 the share of an old acquire is none", []string{
		"commit a 10 5 beside=1 mode=1", "lapse", "commit b 10 6 beside=1 mode=1 attempt=2", "lapse",
		"acquire a 10 beside=1 mode=1", "shares = a@10", "extend a 10 5 beside=1 = LOST b:6@10",
		"finish a 10 5 beside=1 = LATE b:6@10", "shares = ", "acquire c 10 beside=1 mode=1 = OK fence=6 attempt=2",
	}},
	{"N3.2 asked again after another stream", []string{
		"commit a 10 5 beside=1", "lapse", "commit b 10 6 stream=manual", "finish b 10 6 stream=manual",
		"commit a 10 5 beside=1 = OK fence=6 attempt=1", "shares = ", "extend a 10 5 beside=1 = LOST b:6@10",
	}},
	{"N3.2 asked again", []string{
		"commit a 10 5 beside=1", "commit a 10 5 beside=1 = OK fence=5 attempt=1", "lapse", "commit a 10 5 beside=1", "shares = a@10",
		"finish a 10 5 beside=1", "commit a 10 5 beside=1 = OK fence=5 attempt=1", "shares = ",
	}},
	{"N5 asked again says the same", []string{
		"commit a 10 5 beside=1", "commit b 20 6 beside=1", "finish a 10 5 beside=1 = OK", "finish a 10 5 beside=1 = OK",
		"commit c 30 7 beside=1", "finish a 10 5 beside=1 = OK", "runs = Fa.5 Sb.6 Sc.7",
	}},
	{"N5 after the share ran out", []string{
		"commit a 10 5 beside=1", "lapse", "finish a 10 5 beside=1 = RANOUT",
		"commit b 20 6 beside=1", "lapse", "commit c 30 7 beside=1", "finish b 20 6 beside=1 = LATE c:7@30",
		"acquire d 10 beside=1 = LATER c:7@30",
	}},
	{"N9 shares of other ticks are no obstacle", []string{
		"commit a 10 5 beside=1", "look - 10 beside=1 = CLAIMED a:5@10", "look - 20 beside=1 = OK fence=5 attempt=0",
		"look - 20 = BUSY a:5@10", "shares = a@10", "finish a 10 5 beside=1", "look - 20 = OK fence=5 attempt=0",
	}},
	{"N6 void frees the tick", []string{
		"commit a 10 5 beside=1", "void a 10 5 beside=1", "shares = ", "acquire b 10 beside=1 = OK fence=5 attempt=1",
		"commit b 10 6 beside=1 attempt=2",
	}},
	{"N6 void of an older tick leaves the newer", []string{
		"commit a 10 5 beside=1", "commit b 20 6 beside=1", "void a 10 5 beside=1", "shares = b@20",
		"claim = fence=6 owner=b done=0 void=0 mode=0 attempt=1", "acquire c 10 beside=1 = LATER b:6@20",
	}},
	{"N6 abort frees the share", []string{"acquire a 10 beside=1", "abort b 10 beside=1", "shares = a@10", "abort a 10 beside=1", "shares = "}},
	{"N6 evict of one among several", []string{
		"commit a 10 5 beside=1", "commit b 20 6 beside=1", "oust a 10 it hangs = OK", "shares = b@20",
		"extend a 10 5 beside=1 = DEAD", "extend b 20 6 beside=1 = RENEWED", "oust b 10 it hangs = NONE", "shares = b@20",
	}},
	{"N8 not while a share lasts", []string{
		"commit a 10 5 beside=1", "commit b 20 6 beside=1", "drop = BUSY", "finish a 10 5 beside=1", "drop = BUSY",
		"finish b 20 6 beside=1", "drop = OK", "keys = ", "acquire c 20 beside=1 = LATER",
	}},
	{"shares that ran out are dropped", []string{
		"commit a 10 5 beside=1", "age a 10", "shares = ", "commit b 20 6 beside=1", "fields = schedule:20",
	}},
}

// shares lists who has shares that count.
func (r *rig) shares([]string) string {
	r.t.Helper()
	held, err := Holders(r.t.Context(), r.set)
	r.check(err)
	var list []string
	for _, h := range held {
		if h.Name == r.name && h.Beside && h.On.For > 0 {
			list = append(list, fmt.Sprintf("%s@%d", h.owner, int(h.Tick.Sub(r.base).Seconds())))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// lapse ends all shares.
func (r *rig) lapse([]string) string { return r.del(r.keys("")[4]) }

// age ends the share of a tick as time does: it is still there.
func (r *rig) age(args []string) string {
	r.t.Helper()
	field := fmt.Sprintf("schedule:%d.until", r.ms(args[1]))
	r.check(r.client.HSet(r.t.Context(), r.keys("")[4], field, time.Now().Add(-time.Minute).UnixMilli()).Err())
	return ""
}

// fields lists the ticks of which the node keeps shares, counting or not.
func (r *rig) fields([]string) string {
	r.t.Helper()
	all, err := r.client.HKeys(r.t.Context(), r.keys("")[4]).Result()
	r.check(err)
	var list []string
	for _, field := range all {
		if place, ok := strings.CutSuffix(field, ".owner"); ok {
			stream, ms, _ := strings.Cut(place, ":")
			list = append(list, fmt.Sprintf("%s:%d", stream, (int64(r.number(ms))-r.base.UnixMilli())/1000))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// oust is what an operator's forced release of a share asks of the node.
func (r *rig) oust(args []string) string {
	r.t.Helper()
	keys := r.keys(args[0])
	place := fmt.Sprintf("schedule:%d.", r.ms(args[1]))
	return r.ask(evictScript, []string{keys[0], keys[2], keys[4]}, args[0], strings.Join(args[2:], " "), place)
}
