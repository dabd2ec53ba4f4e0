package rules_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/quorate/quorate/internal/rules"
)

func TestExtend(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"renewed": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl)
			v.extend(rules.OK, at(tick, "a"))
			v.wait(ttl)
			v.lock(rules.Busy, at(tick+1, "b"))
		},
		"not of a claim that the node lacks": func(v *server) {
			v.extend(rules.Lost, at(tick, "a"))
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.extend(rules.Lost, at(tick, "b"))
		},
		"not where another try has the lock": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, at(tick+1, "b"))
			v.extend(rules.Lost, at(tick, "a"))
			v.wait(ttl + 1) // it went no further
			v.extend(rules.OK, at(tick, "a"))
		},
		"not by a lock that an old LOCK has set": func(v *server) {
			v.commit(rules.OK, rerun(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, rerun(tick, "b"))
			v.commit(rules.OK, rerun(tick, "b"), nth(2, bid(2)))
			v.wait(ttl + 1)
			v.lock(rules.OK, rerun(tick, "a"))
			v.extend(rules.Lost, rerun(tick, "a"))
		},
		"not after a claim of another stream": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, plain("p"))
			v.commit(rules.OK, plain("p"), bid(2))
			v.finish(rules.OK, plain("p"), rules.End{})
			v.extend(rules.Lost, at(tick, "a"))
			v.commit(rules.Claimed, at(tick, "a"), bid(1))
		},
		"not after an operator's release": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			s, a := rules.Evict(v.s, v.n, at(tick, "a"), "maintenance")
			v.s = s
			v.want("EVICT", rules.OK, a)
			if a := v.extend(rules.Dead, at(tick, "a")); a.Reason != "maintenance" {
				v.t.Fatalf("the reason is %q", a.Reason)
			}
			_, a = rules.Evict(v.s, v.n, at(tick, "a"), "again")
			v.want("EVICT", rules.None, a)
			v.lock(rules.OK, at(tick+1, "b"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestFinishAndVoid(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"answered alike when asked again": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.finish(rules.OK, at(tick, "a"), rules.End{})
			v.finish(rules.OK, at(tick, "a"), rules.End{})
			v.commit(rules.OK, at(tick+1, "b"), bid(2))
			v.finish(rules.OK, at(tick, "a"), rules.End{})
		},
		"the lock had run out": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.finish(rules.RanOut, at(tick, "a"), rules.End{})
			v.finish(rules.RanOut, at(tick, "a"), rules.End{})
		},
		"a plain lock, answered alike": func(v *server) {
			v.commit(rules.OK, plain("p"), bid(1))
			v.finish(rules.OK, plain("p"), rules.End{})
			v.finish(rules.OK, plain("p"), rules.End{})
		},
		"another claim came since": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, plain("p"))
			v.commit(rules.OK, plain("p"), bid(2))
			v.finish(rules.Late, at(tick, "a"), rules.End{})
			v.commit(rules.Done, at(tick, "b"), bid(3))
			v.finish(rules.OK, plain("p"), rules.End{})
		},
		"FINISH overtakes COMMIT": func(v *server) {
			v.finish(rules.Late, at(tick, "a"), rules.End{Straggler: true})
			v.commit(rules.Dead, at(tick, "a"), bid(1))
			v.lock(rules.Dead, at(tick, "a"))
			v.commit(rules.OK, at(tick, "b"), bid(1))
		},
		"VOID overtakes COMMIT": func(v *server) {
			v.void(at(tick, "a"), true)
			v.commit(rules.Dead, at(tick, "a"), bid(1))
		},
		"an operator's reason outlives the end": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.s, _ = rules.Evict(v.s, v.n, at(tick, "a"), "maintenance")
			v.void(at(tick, "a"), true)
			if a := v.extend(rules.Dead, at(tick, "a")); a.Reason != "maintenance" {
				v.t.Fatalf("the reason is %q", a.Reason)
			}
		},
		"a tick that is handed over": func(v *server) {
			v.commit(rules.OK, rerun(tick, "a"), bid(1))
			v.finish(rules.OK, rerun(tick, "a"), rules.End{Handover: true})
			v.finish(rules.OK, rerun(tick, "a"), rules.End{})
			v.lock(rules.Claimed, at(tick, "b"))
			v.commit(rules.OK, rerun(tick, "b"), nth(2, bid(2)))
		},
		"VOID leaves what ended, and claims of others": func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "b"), false)
			v.finish(rules.OK, at(tick, "a"), rules.End{})
			v.void(at(tick, "a"), false)
			if v.s.Streams["s"].Void {
				v.t.Fatal("a finished claim is void")
			}
			v.lock(rules.Done, at(tick, "b"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestOverlappingTicks(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"each has a lock": func(v *server) {
			v.commit(rules.OK, overlapping(tick, "a"), bid(1))
			v.commit(rules.OK, overlapping(tick+1, "b"), bid(2))
			v.commit(rules.Claimed, overlapping(tick+1, "c"), bid(3))
			v.extend(rules.OK, overlapping(tick, "a"))
			v.finish(rules.OK, overlapping(tick, "a"), rules.End{})
			v.finish(rules.OK, overlapping(tick, "a"), rules.End{})
			v.extend(rules.OK, overlapping(tick+1, "b"))
			v.lock(rules.Claimed, overlapping(tick+1, "c"))
		},
		"the marker keeps out the job's lock": func(v *server) {
			v.commit(rules.OK, overlapping(tick, "a"), bid(1))
			v.lock(rules.Busy, plain("p"))
			v.wait(ttl)
			v.extend(rules.OK, overlapping(tick, "a"))
			v.wait(ttl)
			v.commit(rules.Busy, plain("p"), bid(2))
			v.forget(rules.Busy)
			v.wait(1)
			v.commit(rules.Unended, plain("p"), bid(2))
			v.lock(rules.OK, plain("p"))
		},
		"the job's lock keeps out all": func(v *server) {
			v.commit(rules.OK, plain("p"), bid(1))
			v.commit(rules.Busy, overlapping(tick, "a"), bid(2))
			v.wait(ttl + 1)
			v.commit(rules.Unended, overlapping(tick, "a"), bid(2))
			v.extend(rules.OK, plain("p"))
		},
		"those of other streams are beside each other, too": func(v *server) {
			v.commit(rules.OK, rerunning(overlapping(tick, "a")), bid(1))
			manual := overlapping(tick, "b")
			manual.Stream = "manual"
			v.commit(rules.OK, manual, bid(2))
			v.lock(rules.OK, rerunning(overlapping(tick, "a"))) // an old one
			v.extend(rules.OK, overlapping(tick, "a"))
		},
		"the marker lasts as long as the longest": func(v *server) {
			long := overlapping(tick, "a")
			long.TTL = 3 * ttl
			v.commit(rules.OK, long, bid(1))
			v.commit(rules.OK, overlapping(tick+1, "b"), bid(2))
			v.wait(2 * ttl)
			v.lock(rules.Busy, plain("p"))
		},
		"an older one is not set again": func(v *server) {
			v.commit(rules.OK, overlapping(tick, "a"), bid(1))
			v.commit(rules.OK, overlapping(tick+1, "b"), bid(2))
			v.wait(ttl + 1)
			v.extend(rules.Lost, overlapping(tick, "a"))
			v.extend(rules.OK, overlapping(tick+1, "b"))
			v.finish(rules.Late, overlapping(tick, "a"), rules.End{})
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestForget(t *testing.T) {
	v := newServer(t)
	v.forget(rules.None)
	v.commit(rules.OK, at(tick, "a"), bid(5))
	v.forget(rules.Busy)
	v.finish(rules.OK, at(tick, "a"), rules.End{})
	v.forget(rules.OK)
	if len(v.s.Streams) != 0 || len(v.s.Runs.List) != 0 {
		t.Fatalf("it kept %+v", v.s)
	}
	v.commit(rules.Later, at(tick, "b"), bid(6))
	v.commit(rules.Stale, at(tick+1, "b"), bid(5))
	v.commit(rules.OK, at(tick+1, "b"), bid(6))
	other := at(tick, "c")
	other.Stream = "manual"
	v.finish(rules.OK, at(tick+1, "b"), rules.End{})
	v.lock(rules.Later, other) // of any stream without a claim
}

func TestRecords(t *testing.T) {
	type kept struct {
		owner string
		ended rules.Code
	}
	for name, c := range map[string]struct {
		play func(v *server)
		want []kept
	}{
		"a finished run": {func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.finish(rules.OK, at(tick, "a"), rules.End{Note: "x"})
			v.finish(rules.OK, at(tick, "a"), rules.End{Note: "x"})
		}, []kept{{"a", rules.OK}}},
		"COMMIT files a claim that has not ended": {func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(rules.OK, at(tick+1, "b"))
			v.commit(rules.OK, at(tick+1, "b"), bid(2))
		}, []kept{{"a", ""}}},
		"its late end replaces that record": {func(v *server) {
			v.commit(rules.OK, overlapping(tick, "a"), bid(1))
			v.commit(rules.OK, overlapping(tick+1, "b"), bid(2))
			v.finish(rules.OK, overlapping(tick, "a"), rules.End{})
		}, []kept{{"a", rules.OK}}},
		"its late VOID drops that record": {func(v *server) {
			v.commit(rules.OK, overlapping(tick, "a"), bid(1))
			v.commit(rules.OK, overlapping(tick+1, "b"), bid(2))
			v.void(overlapping(tick, "a"), false)
		}, nil},
		"void claims are not filed": {func(v *server) {
			v.commit(rules.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "a"), false)
			v.commit(rules.OK, at(tick+1, "b"), bid(2))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newServer(t)
			c.play(v)
			var got []kept
			for _, r := range v.s.Runs.List {
				got = append(got, kept{r.Owner, r.Ended})
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Fatalf("records %v, want %v", got, c.want)
			}
		})
	}
}

func TestRecordsAreBounded(t *testing.T) {
	v := newServer(t)
	for i := range int64(5) {
		b := bid(uint64(i) + 1)
		try := at(tick+i, string(rune('a'+i)))
		v.commit(rules.OK, try, b)
		s, _ := rules.Finish(v.s, v.n, try, rules.End{Keep: 2})
		v.s = s
	}
	if r := v.s.Runs; len(r.List) != 2 || r.List[0].Tick != tick+3 || r.Dropped != tick+2 {
		t.Fatalf("kept %+v", r)
	}
}

func TestDroppedTakesThePlaceOfAnOlderRecord(t *testing.T) {
	v := newServer(t)
	end := func(n int64, keep int) {
		try := at(tick+n, fmt.Sprint("owner ", n))
		v.s, _ = rules.Finish(v.s, v.n, try, rules.End{Keep: keep})
	}
	for n := range int64(4) {
		end(2*n, 2)
	}
	end(1, 4) // older than the mark, but there is room
	if len(v.s.Runs.List) != 3 {
		t.Fatalf("kept %+v", v.s.Runs)
	}
	end(8, 4) // four records and the mark
	if r := v.s.Runs; len(r.List) != 3 || r.List[0].Tick != tick+4 || r.Dropped != tick+2 {
		t.Fatalf("kept %+v", r)
	}
}
