package ledger

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An answer is one node's: the owner of its lock, and its records.
type answer struct {
	lock    string
	records []scripts.Record
}

func node(records ...scripts.Record) answer { return answer{records: records} }

func locked(owner string, records ...scripts.Record) answer {
	return answer{lock: owner, records: records}
}

// claimed is the record of a claim of tick 1, by an owner named after its token.
func claimed(kind byte, token uint64) scripts.Record {
	e := started("job", 1)
	if kind != scripts.Started {
		e = finished("job", 1)
	}
	return scripts.Record{
		Kind: kind, Stream: locking.StreamSchedule, Tick: tick(1), Token: token, Attempt: 1,
		Owner: fmt.Sprint("owner-", token), Note: ledger.EncodeNote(e),
	}
}

// stale is the record of a run that ended so, with a stale write.
func stale(r scripts.Record, o ledger.Outcome) scripts.Record {
	e := finished("job", 1)
	e.Outcome, e.StaleWrites, e.Reason = o, 1, ledger.TextReason("1 stale write refused")
	r.Note = ledger.EncodeNote(e)
	return r
}

// said is the record of tick 1 that did not run.
func said(o ledger.Outcome, reason string) scripts.Record {
	e := skipped("job", 1, reason)
	e.Outcome = o
	return scripts.Record{Kind: scripts.NotRun, Stream: locking.StreamSchedule, Tick: tick(1), Rank: e.Rank(), Note: ledger.EncodeNote(e)}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	s7, f7, l7 := claimed(scripts.Started, 7), claimed(scripts.Finished, 7), claimed(scripts.Late, 7)
	s8, f8 := claimed(scripts.Started, 8), claimed(scripts.Finished, 8)
	skip, miss := said(ledger.Skipped, "busy"), said(ledger.Missed, "no quorum")
	drained := said(ledger.Missed, "z")
	drained.Rank = 'a'
	for name, tt := range map[string]struct {
		answers []answer
		// Each entry as "token outcome", with the parts of its reason behind.
		runs, ticks []string
	}{
		"nothing":                    {[]answer{node(), node(), node()}, nil, nil},
		"running":                    {[]answer{locked("owner-7", s7), node(s7), node(s7)}, []string{"7 running"}, []string{"7 running"}},
		"lock of another":            {[]answer{locked("owner-9", s7), node(s7), node(s7)}, []string{"7 interrupted ended before"}, []string{"7 interrupted ended before"}},
		"interrupted":                {[]answer{node(s7), node(s7), node(s7)}, []string{"7 interrupted ended before"}, []string{"7 interrupted ended before"}},
		"known to few":               {[]answer{node(s7), node(s7), node(), node()}, []string{"7 interrupted may not have started: only 2 of the 4"}, []string{"7 interrupted may not have started"}},
		"finish wins":                {[]answer{locked("owner-7", s7), locked("owner-7", s7), node(f7)}, []string{"7 succeeded"}, []string{"7 succeeded"}},
		"finish wins, told first":    {[]answer{node(f7), locked("owner-7", s7), locked("owner-7", s7)}, []string{"7 succeeded"}, []string{"7 succeeded"}},
		"late on some":               {[]answer{node(l7), node(f7), node(l7)}, []string{"7 succeeded"}, []string{"7 succeeded"}},
		"late everywhere":            {[]answer{node(l7), node(l7), node(s7)}, []string{"7 succeeded lease was lost"}, []string{"7 succeeded lease was lost"}},
		"late, with a stale write":   {[]answer{node(stale(l7, ledger.Succeeded))}, []string{"7 succeeded 1 stale write refused; it ended after its lease was lost; others may have worked meanwhile"}, []string{"7 succeeded 1 stale"}},
		"late, and knew it":          {[]answer{node(stale(l7, ledger.LeaseLost))}, []string{"7 lease_lost 1 stale write refused"}, []string{"7 lease_lost 1 stale"}},
		"two runs":                   {[]answer{node(s7, f8), node(s7, f8), node(s7, f8)}, []string{"8 succeeded", "7 interrupted"}, []string{"8 succeeded"}},
		"lost attempt":               {[]answer{node(f7), node(f7), node(f7), node(s8)}, []string{"8 interrupted may not", "7 succeeded"}, []string{"7 succeeded"}},
		"run hides records":          {[]answer{node(skip, f7), node(f7), node(f7)}, []string{"7 succeeded"}, []string{"7 succeeded"}},
		"doubtful run hides records": {[]answer{node(skip, s7), node(skip), node(skip)}, []string{"7 interrupted may not"}, []string{"7 interrupted may not"}},
		"skip before miss":           {[]answer{node(miss), node(skip), node(miss)}, nil, []string{"0 skipped busy"}},
		"drained last":               {[]answer{node(drained), node(drained), node(miss)}, nil, []string{"0 missed no quorum"}},
		"most common": {
			[]answer{node(said(ledger.Missed, "z")), node(said(ledger.Missed, "a")), node(said(ledger.Missed, "z"))},
			nil,
			[]string{"0 missed z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(what string, choose func([]known) []ledger.Entry, want []string) {
				t.Helper()
				got := choose(merged(tt.answers))
				if len(got) != len(want) {
					t.Fatalf("%s = %+v, want %q", what, got, want)
				}
				for i, w := range want {
					head, reason := cut(w)
					if have := fmt.Sprint(got[i].Token, " ", got[i].Outcome); have != head || !strings.Contains(got[i].Reason.String(), reason) || reason == "" && got[i].Outcome == ledger.Succeeded && !got[i].Reason.IsZero() {
						t.Errorf("%s, entry %d = %q because %q, want %q", what, i, have, got[i].Reason, w)
					}
				}
			}
			check("runs", runs, tt.runs)
			check("ticks", ticks, tt.ticks)
		})
	}
}

// cut splits "token outcome reason…" into the first two words and the rest.
func cut(want string) (head, reason string) {
	words := strings.SplitN(want, " ", 3)
	if len(words) == 3 {
		reason = words[2]
	}
	return words[0] + " " + words[1], reason
}

// merged merges the answers of nodes of a cluster of five.
func merged(answers []answer) []known {
	m := newMerger(3, len(answers))
	for _, a := range answers {
		for _, r := range a.records {
			m.add(r, a.lock)
		}
	}
	return m.known("job")
}

// Numbers that claims have missed, of those that were given back or that hardly a
// node knows of, do not show.
func TestAttemptsCountRunsThatBegan(t *testing.T) {
	t.Parallel()
	of := func(token uint64, attempt int) scripts.Record {
		r := claimed(scripts.Finished, token)
		r.Attempt = attempt
		return r
	}
	lost := claimed(scripts.Started, 6)
	list := merged([]answer{node(lost, of(7, 3)), node(of(7, 3), of(9, 8)), node(of(9, 8))})
	got := map[locking.Token]int{}
	for _, e := range runs(list) {
		got[e.Token] = e.Attempt
	}
	if want := map[locking.Token]int{6: 1, 7: 1, 9: 2}; !maps.Equal(got, want) {
		t.Errorf("attempts by token: %v, want %v", got, want)
	}
}

// An entry of a later release is listed as one that cannot be read, beside others.
func TestMergeOfNewerNotes(t *testing.T) {
	t.Parallel()
	for _, r := range []scripts.Record{claimed(scripts.Started, 7), said(ledger.Missed, "x")} {
		r.Note = []byte(`{"v":3}`)
		list := entries(merged([]answer{node(r), node(claimed(scripts.Finished, 5))}))
		if len(list) != 2 || !strings.Contains(list[0].Reason.String()+list[1].Reason.String(), "upgrade") {
			t.Errorf("with a %c record with a newer note are listed %+v", r.Kind, list)
		}
	}
}
