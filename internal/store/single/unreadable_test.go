package single_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Beside one record of each kind that cannot be read, everything else is listed, taken and done. Each
// such record is logged once, and listed as what it is.
func TestUnreadableRecordsHarmOnlyThemselves(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, log := newDatabase(t), new(bytes.Buffer)
	c, err := single.Open(db.session(), claims.Config{Grace: grace}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })

	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, job := range []string{"good", "bad"} {
		if err := c.Roster.Publish(ctx, []roster.JobInfo{{Name: job, Hash: "h"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ledger.Record(ctx, ledger.Entry{Job: job, Tick: at, Outcome: ledger.Skipped, Reason: ledger.TextReason("so")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Commands.Do(ctx, commands.Command{ID: "good", Kind: commands.Trigger, Job: "good"}); err != nil {
		t.Fatal(err)
	}
	queued, _ := commands.Command{ID: "z-queued", Kind: commands.Trigger, Job: "good", Trigger: ledger.ByManual, Within: time.Hour}.Encode()
	long, _ := commands.Command{ID: "long", Kind: commands.Trigger, Job: "good", Trigger: ledger.ByChain, Parent: strings.Repeat("x", 1<<20), Within: time.Hour}.Encode()
	bad := map[kv.Key]string{
		records.EntryKey("bad", records.Entry{Stream: "schedule", Tick: at.UnixMilli(), Token: 7}): `{"kind":"F","stream":"schedule","tick":"abc"}`,
		records.EntryKey("bad", records.Entry{Stream: "schedule", Tick: at.UnixMilli() + 1000}):    `5`,
		{Kind: kv.Entries, Name: "bad", Sub: "x"}:                                                  `{"kind":"F"}`,
		records.ClaimsKey("bad"):                             `{"streams":5}`,
		{Kind: kv.Leases, Name: "bad"}:                       `[]`,
		records.ClaimsKey("plain"):                           `5`, // of a plain lock, which only the listing of locks reads
		{Kind: kv.Logs, Name: "bad"}:                         `{"trimmed":"x"}`,
		{Kind: kv.Jobs, Name: "bad", Sub: "g"}:               `[]`,
		{Kind: kv.Members, Name: "bad"}:                      `5`,
		{Kind: kv.Jobs, Name: "bad", Sub: "empty"}:           fmt.Sprintf(`{"at":%d}`, time.Now().UnixMilli()),
		{Kind: kv.Jobs, Name: "bad", Sub: "null"}:            `null`,
		{Kind: kv.Members, Name: "empty"}:                    fmt.Sprintf(`{"at":%d}`, time.Now().UnixMilli()),
		{Kind: kv.Members, Name: "null"}:                     `null`,
		{Kind: kv.Commands, Name: "queue", Sub: "null"}:      `null`,
		{Kind: kv.Commands, Name: "audit", Sub: "null"}:      `null`,
		{Kind: kv.Commands, Name: "pause", Sub: "tag%20bad"}: `{}`,
		{Kind: kv.Commands, Name: "queue", Sub: "bad"}:       `{"within":"x"}`,
		{Kind: kv.Commands, Name: "open", Sub: "bad"}:        `{"at":"soon"}`,
		{Kind: kv.Commands, Name: "audit", Sub: "bad"}:       `{"v":99}`,
		{Kind: kv.Commands, Name: "pause", Sub: "job%20bad"}: `"x"`,
		{Kind: kv.Sets, Name: "renewed", Sub: "bad"}:         `[]`,
	}
	txn := kv.Txn{Put: []kv.Write{
		{Key: kv.Key{Kind: kv.Commands, Name: "queue", Sub: "z-queued"}, Value: queued},
		{Key: kv.Key{Kind: kv.Commands, Name: "queue", Sub: "long"}, Value: long},
	}}
	for k, text := range bad {
		txn.Put = append(txn.Put, kv.Write{Key: k, Value: json.RawMessage(text)})
	}
	_, stamp, err := db.Read(ctx, records.IncarnationKey())
	if err != nil {
		t.Fatal(err)
	}
	txn.Incarnation = stamp.Incarnation
	if o, err := db.Memory.Commit(ctx, txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}

	for range 2 {
		ticks, err := c.Ledger.Ticks(ctx, ledger.Query{Job: "bad", Limit: 10})
		count := 0
		for _, e := range ticks {
			if e.Outcome == ledger.Unreadable && e.Reason.Has(ledger.CodeUnreadable) {
				count++
			}
		}
		if err != nil || count != 3 {
			t.Errorf("ticks of the job: %+v, %v", ticks, err)
		}
		runs, err := c.Ledger.Runs(ctx, ledger.Query{Job: "bad", Limit: 10})
		if err != nil || len(runs) != 1 || runs[0].Token != 7 || runs[0].Outcome != ledger.Unreadable {
			t.Errorf("runs of the job: %+v, %v", runs, err)
		}
		page, err := view.ControlOf(c).Recent(ctx, view.EntryQuery{Limit: 20, Ticks: true})
		if err != nil || len(page.Entries) < 3 {
			t.Errorf("recent ticks: %+v, %v", page, err)
		}
		if list, err := c.Roster.Replicas(ctx); err != nil || len(list) != 0 {
			t.Errorf("replicas: %+v, %v", list, err)
		}
		if list, err := c.Roster.Jobs(ctx); err != nil || len(list) != 2 {
			t.Errorf("jobs: %+v, %v", list, err)
		}
		open, err := c.Commands.Open(ctx)
		if err != nil || len(open.Requests) != 2 || len(open.Pauses) != 2 || open.Pauses[0].Job != "bad" || open.Pauses[1].Tag != "bad" {
			t.Errorf("commands: %+v, %v", open, err)
		}
		held, err := c.Holders(ctx)
		if err != nil || len(held) != 2 || held[0].Name != "bad" || held[0].Holder != "unreadable" || held[1].Name != "plain" {
			t.Errorf("locks: %+v, %v", held, err)
		}
	}
	audit, err := c.Commands.Audit(ctx, 100)
	kinds := map[commands.Kind]int{}
	for _, command := range audit {
		if kinds[command.Kind]++; len(command.Parent) > 2000 {
			t.Errorf("a command of %d bytes", len(command.Parent))
		}
	}
	if err != nil || kinds[commands.Unreadable] != 4 || kinds[commands.Trigger] != 3 {
		t.Errorf("the audit log has %v, %v: %+v", kinds, err, audit)
	}
	if list, err := c.Ledger.Ticks(ctx, ledger.Query{Job: "good", Limit: 10}); err != nil || len(list) != 2 || list[0].Outcome != ledger.Missed || list[0].Trigger != ledger.ByChain {
		t.Errorf("a follower that is refused: %+v, %v", list, err)
	}
	if _, err := c.Commands.Do(ctx, commands.Command{Kind: commands.Resume, Job: "bad", By: "ann", Reason: "so"}); err != nil {
		t.Errorf("resuming: %v", err)
	}
	if open, err := c.Commands.Open(ctx); err != nil || len(open.Pauses) != 1 {
		t.Errorf("after a resume: %+v, %v", open.Pauses, err)
	}
	if _, err := c.Roster.Beat(ctx, roster.Replica{ID: "bad"}); err != nil {
		t.Errorf("a heartbeat: %v", err)
	}
	if err := c.Ledger.Trim(ctx, "bad"); err != nil {
		t.Errorf("trimming: %v", err)
	}
	if kept, err := c.Roster.RenewSet(ctx, "bad"); err != nil || kept {
		t.Errorf("renewing: %v, %v", kept, err)
	}
	if _, err := c.Claims.TryAcquire(ctx, locking.Request{Name: "good", Tick: at, Holder: "a"}); err != nil {
		t.Errorf("a claim of another job: %v", err)
	}
	if checked, err := view.ControlOf(c).Check(ctx); err != nil || !strings.Contains(fmt.Sprint(checked.Rows[0].Findings), "stored records cannot be read") {
		t.Errorf("the checks find %+v, %v", checked, err)
	}
	n, _ := c.Records().Unreadable.Count()
	if lines := strings.Count(log.String(), "level=WARN"); lines != n || n < 17 || !strings.Contains(log.String(), `"claim plain"`) {
		t.Errorf("%d records are counted, %d lines logged:\n%s", n, lines, log)
	}
	_, stamp, err = db.Read(ctx, records.IncarnationKey())
	if err != nil {
		t.Fatal(err)
	}
	if o, err := db.Memory.Commit(ctx, kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: records.IncarnationKey(), Value: json.RawMessage(`5`)}}}); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
	if list, err := c.Ledger.Ticks(ctx, ledger.Query{Job: "good", Limit: 10}); err != nil || len(list) != 2 {
		t.Errorf("ticks beside an incarnation that cannot be read: %+v, %v", list, err)
	}
	if _, err := c.Claims.TryAcquire(ctx, locking.Request{Name: "good", Tick: at.Add(time.Second), Holder: "a"}); err == nil || !strings.Contains(err.Error(), "life") {
		t.Errorf("a claim beside an incarnation that cannot be read: %v", err)
	}
	if rows := view.NewCheckup(c.Check(ctx), true).Rows; rows[0].Verdict != "mend" || !strings.Contains(fmt.Sprint(rows[0].Findings), "cluster life") {
		t.Errorf("the checks find %+v of an incarnation that cannot be read", rows)
	}
}
