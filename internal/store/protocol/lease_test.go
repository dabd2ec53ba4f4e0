package protocol_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/quorate/quorate/internal/store/protocol"
)

func TestExtend(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"renewed": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl)
			v.extend(protocol.OK, at(tick, "a"))
			v.wait(ttl)
			v.lock(protocol.Busy, at(tick+1, "b"))
		},
		"not of a claim that the node lacks": func(v *server) {
			v.extend(protocol.Lost, at(tick, "a"))
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.extend(protocol.Lost, at(tick, "b"))
		},
		"not where another try has the lock": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, at(tick+1, "b"))
			v.extend(protocol.Lost, at(tick, "a"))
			v.wait(ttl + 1) // it went no further
			v.extend(protocol.OK, at(tick, "a"))
		},
		"not by a lock that an old LOCK has set": func(v *server) {
			v.commit(protocol.OK, rerun(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, rerun(tick, "b"))
			v.commit(protocol.OK, rerun(tick, "b"), nth(2, bid(2)))
			v.wait(ttl + 1)
			v.lock(protocol.OK, rerun(tick, "a"))
			v.extend(protocol.Lost, rerun(tick, "a"))
		},
		"not after a claim of another stream": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, plain("p"))
			v.commit(protocol.OK, plain("p"), bid(2))
			v.finish(protocol.OK, plain("p"), protocol.End{})
			v.extend(protocol.Lost, at(tick, "a"))
			v.commit(protocol.Claimed, at(tick, "a"), bid(1))
		},
		"not after an operator's release": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			s, a := protocol.Evict(v.s, v.n, at(tick, "a"), "maintenance")
			v.s = s
			v.want("EVICT", protocol.OK, a)
			if a := v.extend(protocol.Dead, at(tick, "a")); a.Reason != "maintenance" {
				v.t.Fatalf("the reason is %q", a.Reason)
			}
			_, a = protocol.Evict(v.s, v.n, at(tick, "a"), "again")
			v.want("EVICT", protocol.None, a)
			v.lock(protocol.OK, at(tick+1, "b"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestFinishAndVoid(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"answered alike when asked again": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.finish(protocol.OK, at(tick, "a"), protocol.End{})
			v.finish(protocol.OK, at(tick, "a"), protocol.End{})
			v.commit(protocol.OK, at(tick+1, "b"), bid(2))
			v.finish(protocol.OK, at(tick, "a"), protocol.End{})
		},
		"the lock had run out": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.finish(protocol.RanOut, at(tick, "a"), protocol.End{})
			v.finish(protocol.RanOut, at(tick, "a"), protocol.End{})
		},
		"a plain lock, answered alike": func(v *server) {
			v.commit(protocol.OK, plain("p"), bid(1))
			v.finish(protocol.OK, plain("p"), protocol.End{})
			v.finish(protocol.OK, plain("p"), protocol.End{})
		},
		"another claim came since": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, plain("p"))
			v.commit(protocol.OK, plain("p"), bid(2))
			v.finish(protocol.Late, at(tick, "a"), protocol.End{})
			v.commit(protocol.Done, at(tick, "b"), bid(3))
			v.finish(protocol.OK, plain("p"), protocol.End{})
		},
		"FINISH overtakes COMMIT": func(v *server) {
			v.finish(protocol.Late, at(tick, "a"), protocol.End{Straggler: true})
			v.commit(protocol.Dead, at(tick, "a"), bid(1))
			v.lock(protocol.Dead, at(tick, "a"))
			v.commit(protocol.OK, at(tick, "b"), bid(1))
		},
		"VOID overtakes COMMIT": func(v *server) {
			v.void(at(tick, "a"), true)
			v.commit(protocol.Dead, at(tick, "a"), bid(1))
		},
		"an operator's reason outlives the end": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.s, _ = protocol.Evict(v.s, v.n, at(tick, "a"), "maintenance")
			v.void(at(tick, "a"), true)
			if a := v.extend(protocol.Dead, at(tick, "a")); a.Reason != "maintenance" {
				v.t.Fatalf("the reason is %q", a.Reason)
			}
		},
		"a tick that is handed over": func(v *server) {
			v.commit(protocol.OK, rerun(tick, "a"), bid(1))
			v.finish(protocol.OK, rerun(tick, "a"), protocol.End{Handover: true})
			v.finish(protocol.OK, rerun(tick, "a"), protocol.End{})
			v.lock(protocol.Claimed, at(tick, "b"))
			v.commit(protocol.OK, rerun(tick, "b"), nth(2, bid(2)))
		},
		"VOID leaves what ended, and claims of others": func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "b"), false)
			v.finish(protocol.OK, at(tick, "a"), protocol.End{})
			v.void(at(tick, "a"), false)
			if v.s.Streams["s"].Void {
				v.t.Fatal("a finished claim is void")
			}
			v.lock(protocol.Done, at(tick, "b"))
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestOverlappingTicks(t *testing.T) {
	for name, play := range map[string]func(v *server){
		"each has a lock": func(v *server) {
			v.commit(protocol.OK, overlapping(tick, "a"), bid(1))
			v.commit(protocol.OK, overlapping(tick+1, "b"), bid(2))
			v.commit(protocol.Claimed, overlapping(tick+1, "c"), bid(3))
			v.extend(protocol.OK, overlapping(tick, "a"))
			v.finish(protocol.OK, overlapping(tick, "a"), protocol.End{})
			v.finish(protocol.OK, overlapping(tick, "a"), protocol.End{})
			v.extend(protocol.OK, overlapping(tick+1, "b"))
			v.lock(protocol.Claimed, overlapping(tick+1, "c"))
		},
		"the marker keeps out the job's lock": func(v *server) {
			v.commit(protocol.OK, overlapping(tick, "a"), bid(1))
			v.lock(protocol.Busy, plain("p"))
			v.wait(ttl)
			v.extend(protocol.OK, overlapping(tick, "a"))
			v.wait(ttl)
			v.commit(protocol.Busy, plain("p"), bid(2))
			v.forget(protocol.Busy)
			v.wait(1)
			v.commit(protocol.Unended, plain("p"), bid(2))
			v.lock(protocol.OK, plain("p"))
		},
		"the job's lock keeps out all": func(v *server) {
			v.commit(protocol.OK, plain("p"), bid(1))
			v.commit(protocol.Busy, overlapping(tick, "a"), bid(2))
			v.wait(ttl + 1)
			v.commit(protocol.Unended, overlapping(tick, "a"), bid(2))
			v.extend(protocol.OK, plain("p"))
		},
		"those of other streams are beside each other, too": func(v *server) {
			v.commit(protocol.OK, rerunning(overlapping(tick, "a")), bid(1))
			manual := overlapping(tick, "b")
			manual.Stream = "manual"
			v.commit(protocol.OK, manual, bid(2))
			v.lock(protocol.OK, rerunning(overlapping(tick, "a"))) // an old one
			v.extend(protocol.OK, overlapping(tick, "a"))
		},
		"the marker lasts as long as the longest": func(v *server) {
			long := overlapping(tick, "a")
			long.TTL = 3 * ttl
			v.commit(protocol.OK, long, bid(1))
			v.commit(protocol.OK, overlapping(tick+1, "b"), bid(2))
			v.wait(2 * ttl)
			v.lock(protocol.Busy, plain("p"))
		},
		"an older one is not set again": func(v *server) {
			v.commit(protocol.OK, overlapping(tick, "a"), bid(1))
			v.commit(protocol.OK, overlapping(tick+1, "b"), bid(2))
			v.wait(ttl + 1)
			v.extend(protocol.Lost, overlapping(tick, "a"))
			v.extend(protocol.OK, overlapping(tick+1, "b"))
			v.finish(protocol.Late, overlapping(tick, "a"), protocol.End{})
		},
	} {
		t.Run(name, func(t *testing.T) { play(newServer(t)) })
	}
}

func TestForget(t *testing.T) {
	v := newServer(t)
	v.forget(protocol.None)
	v.commit(protocol.OK, at(tick, "a"), bid(5))
	v.forget(protocol.Busy)
	v.finish(protocol.OK, at(tick, "a"), protocol.End{})
	v.forget(protocol.OK)
	if len(v.s.Streams) != 0 || len(v.s.Runs.List) != 0 {
		t.Fatalf("it kept %+v", v.s)
	}
	v.commit(protocol.Later, at(tick, "b"), bid(6))
	v.commit(protocol.Stale, at(tick+1, "b"), bid(5))
	v.commit(protocol.OK, at(tick+1, "b"), bid(6))
	other := at(tick, "c")
	other.Stream = "manual"
	v.finish(protocol.OK, at(tick+1, "b"), protocol.End{})
	v.lock(protocol.Later, other) // of any stream without a claim
}

func TestRecords(t *testing.T) {
	type kept struct {
		owner string
		ended protocol.Code
	}
	for name, c := range map[string]struct {
		play func(v *server)
		want []kept
	}{
		"a finished run": {func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.finish(protocol.OK, at(tick, "a"), protocol.End{Note: "x"})
			v.finish(protocol.OK, at(tick, "a"), protocol.End{Note: "x"})
		}, []kept{{"a", protocol.OK}}},
		"COMMIT files a claim that has not ended": {func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.wait(ttl + 1)
			v.lock(protocol.OK, at(tick+1, "b"))
			v.commit(protocol.OK, at(tick+1, "b"), bid(2))
		}, []kept{{"a", ""}}},
		"its late end replaces that record": {func(v *server) {
			v.commit(protocol.OK, overlapping(tick, "a"), bid(1))
			v.commit(protocol.OK, overlapping(tick+1, "b"), bid(2))
			v.finish(protocol.OK, overlapping(tick, "a"), protocol.End{})
		}, []kept{{"a", protocol.OK}}},
		"its late VOID drops that record": {func(v *server) {
			v.commit(protocol.OK, overlapping(tick, "a"), bid(1))
			v.commit(protocol.OK, overlapping(tick+1, "b"), bid(2))
			v.void(overlapping(tick, "a"), false)
		}, nil},
		"void claims are not filed": {func(v *server) {
			v.commit(protocol.OK, at(tick, "a"), bid(1))
			v.void(at(tick, "a"), false)
			v.commit(protocol.OK, at(tick+1, "b"), bid(2))
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
		v.commit(protocol.OK, try, b)
		s, _ := protocol.Finish(v.s, v.n, try, protocol.End{Keep: 2})
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
		v.s, _ = protocol.Finish(v.s, v.n, try, protocol.End{Keep: keep})
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
