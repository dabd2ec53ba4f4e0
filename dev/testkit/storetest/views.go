package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	kept "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ViewsAgree stores a ledger, of which some records cannot be read, and checks that the views "runs" and "ticks"
// say what the listings say. Rows returns those of a view for a job, each as its tick in RFC 3339, outcome,
// reason ("" for none) and token, with spaces between.
func ViewsAgree(t *testing.T, s kv.Store, rows func(view, job string) []string) {
	t.Helper()
	StoreLedger(t, s)
	storeUnreadable(t, s)
	l := kept.New(s, time.Second)
	for _, job := range []string{"report", "trimmed", "dead", "held", "overlapping", "odd", "garbled", "blind", "lost"} {
		for view, list := range map[string]func(context.Context, ledger.Query) ([]ledger.Entry, error){"runs": l.Runs, "ticks": l.Ticks} {
			entries, err := list(t.Context(), ledger.Query{Job: job, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, e := range entries {
				want = append(want, fmt.Sprint(e.Tick.Format(time.RFC3339), " ", e.Outcome, " ", e.Reason.Code, " ", e.Token))
			}
			got := rows(view, job)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s of %s are %q; the listing has %q", view, job, got, want)
			}
		}
	}
}

// StoreLedger stores runs that have ended, that go on, and whose replica has died, and
// ticks that did not run.
func StoreLedger(t *testing.T, s kv.Store) {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), records.ProbeKey())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)
	run := func(outcome ledger.Outcome, trigger ledger.Trigger, replica string) ledger.Entry {
		return ledger.Entry{Outcome: outcome, Trigger: trigger, Replica: replica, Started: at, Finished: at.Add(time.Minute)}
	}
	failed, asked := run(ledger.Failed, ledger.BySchedule, "a"), run(ledger.Succeeded, ledger.ByManual, "b")
	failed.Error, failed.Reason = "it broke: \\u0000 \x00\x00", ledger.Reason{Code: ledger.CodeTimeout}
	asked.Tick, asked.Order = at.Add(-time.Hour), at.Add(9*time.Hour)
	begun := ledger.EncodeNote(ledger.Entry{Trigger: ledger.BySchedule, Replica: "a", Started: at})
	paused := ledger.Entry{Outcome: ledger.Skipped, Reason: ledger.Reason{Code: ledger.CodePaused}}
	four, five := at.Add(2*time.Hour).UnixMilli(), at.Add(3*time.Hour).UnixMilli()
	late := stamp.Now.Add(time.Hour).UnixMilli()

	txn := kv.Txn{Incarnation: stamp.Incarnation}
	entry := func(job string, e records.Entry) { txn.Put = append(txn.Put, records.Put(records.EntryKey(job, e), e)) }
	entry("report", records.Entry{Kind: records.Finished, Stream: "schedule", Tick: at.UnixMilli(), Token: 1, Note: ledger.EncodeNote(failed)})
	entry("report", records.Entry{Kind: records.RanOut, Stream: "schedule", Tick: at.UnixMilli(), Token: 2, Note: ledger.EncodeNote(run(ledger.Succeeded, ledger.ByRerun, "b"))})
	entry("report", records.Entry{Kind: records.Late, Stream: "manual", Tick: asked.Order.UnixMilli(), Token: 3, Note: ledger.EncodeNote(asked)})
	entry("report", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: at.Add(time.Hour).UnixMilli(), Rank: 3, Note: ledger.EncodeNote(paused)})
	entry("report", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: at.UnixMilli(), Rank: 9, Note: ledger.EncodeNote(paused)})
	lost := run(ledger.LeaseLost, ledger.BySchedule, "a")
	entry("trimmed", records.Entry{Kind: records.Late, Stream: "schedule", Tick: five, Token: 2, Note: ledger.EncodeNote(lost)})
	entry("trimmed", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four, Note: ledger.EncodeNote(paused)})
	entry("trimmed", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four + 1000, Note: ledger.EncodeNote(paused)})
	txn.Put = append(txn.Put, kv.Write{Key: kv.Key{Kind: kv.Logs, Name: "trimmed"}, Value: json.RawMessage(fmt.Sprintf(`{"trimmed":%d}`, four))})
	entry("odd", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four, Note: json.RawMessage(`{"v":2,"outcome":"missed","of_a_later_release":[1]}`)})
	for job, c := range map[string]records.Claims{
		"dead": {Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: four, Token: 1, Owner: "o", Ended: "OK"}}},
		"held": {Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: four, Token: 1, Owner: "o"}}},
		"overlapping": {
			Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: five, Token: 2, Owner: "p", Overlaps: true}},
			Earlier: []records.Claim{{Stream: "schedule", Tick: four, Token: 1, Owner: "o", Overlaps: true}},
		},
	} {
		txn.Put = append(txn.Put, records.Put(records.ClaimsKey(job), c))
		entry(job, records.Entry{Kind: records.Started, Stream: "schedule", Tick: four, Token: 1, Owner: "o", Note: begun})
		for _, claim := range c.All() {
			lease := records.Lease{Owner: claim.Owner, Token: claim.Token, Until: late}
			if claim.Owner == "p" {
				lease.Until = stamp.Now.Add(-time.Second).UnixMilli()
				entry(job, records.Entry{Kind: records.Started, Stream: "schedule", Tick: five, Token: 2, Owner: "p", Note: begun})
			}
			txn.Put = append(txn.Put, records.Put(records.LeaseKey(job, claim), lease))
		}
	}
	if o, err := s.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
}

// storeUnreadable stores records that nobody can read, and others of their jobs.
func storeUnreadable(t *testing.T, s kv.Store) {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), records.ProbeKey())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC).UnixMilli()
	good := ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded, Started: time.UnixMilli(at), Finished: time.UnixMilli(at)})
	txn := kv.Txn{Incarnation: stamp.Incarnation}
	raw := func(job string, n int64, text string) {
		key := records.EntryKey(job, records.Entry{Stream: "schedule", Tick: at + n*1000, Token: uint64(n)})
		txn.Put = append(txn.Put, kv.Write{Key: key, Value: json.RawMessage(text)})
	}
	form := `{"kind":"F","stream":"schedule","tick":%d,"token":%d,"owner":"o","note":%s}`
	for n, note := range []string{
		string(good), `{"tick":"abc"}`, `{"started":1e400}`, `{"finished":99999999999999999}`, `{"started":253402300800000}`, `{"replica":5}`, `{"reason":"x"}`,
		`{"tries":"x"}`, `{"error":["x"]}`, `{"v":3}`, `[]`, `"text"`, `5`, `{"trigger":{}}`, `{"parent":1.5}`, `{"outcome":7}`, `{"reason":{"c":1}}`, string(good),
	} {
		raw("garbled", int64(n+1), fmt.Sprintf(form, at+int64(n+1)*1000, n+1, note))
	}
	for n, text := range []string{`5`, `[]`, `"x"`, `{}`, `{"kind":"X"}`, `{"kind":5}`, `{"kind":"F","rank":"x"}`, `null`} {
		raw("garbled", int64(n+30), text)
	}
	for job, text := range map[string]string{"blind": `{"streams":5}`, "lost": `[]`} {
		txn.Put = append(txn.Put, kv.Write{Key: records.ClaimsKey(job), Value: json.RawMessage(text)})
		raw(job, 1, fmt.Sprintf(`{"kind":"S","stream":"schedule","tick":%d,"token":1,"owner":"o","note":{"v":2}}`, at+1000))
		raw(job, 2, fmt.Sprintf(form, at+2000, 2, good))
		txn.Put = append(txn.Put, kv.Write{Key: kv.Key{Kind: kv.Logs, Name: job}, Value: json.RawMessage(`{"trimmed":"x"}`)})
	}
	if o, err := s.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
}
