package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Ticks to come say when they start, as the replica that runs them has it.
func TestNextSaysTheJitter(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	every, err := schedule.Parse("@every 1h", schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	peers := new(schedtest.Roster)
	info := roster.JobInfo{Name: "report", Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: at, ConfigHash: "c", Jitter: 10 * time.Minute}
	plain := roster.JobInfo{Name: "sweep", Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: at, ConfigHash: "c"}
	if err := peers.Publish(t.Context(), []roster.JobInfo{info, plain}); err != nil {
		t.Fatal(err)
	}
	if _, err := peers.Beat(t.Context(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady}); err != nil {
		t.Fatal(err)
	}
	rows, err := view.Reader{Records: store.Records{Roster: peers, Commands: new(schedtest.Commands)}}.Next(t.Context(), "", at, 6)
	if err != nil || len(rows) != 6 {
		t.Fatalf("%+v, %v", rows, err)
	}
	later := 0
	for _, row := range rows {
		tick, start := view.Time(&row.Tick), view.Time(row.Start)
		want := tick
		if row.Job == "report" {
			want = info.Start(every, tick)
		}
		if !start.Equal(want) || strings.Contains(view.Text(row.Note), "(jitter)") != start.After(tick) {
			t.Errorf("%s at %s starts at %s, want %s: %q", row.Job, row.Tick, start, want, view.Text(row.Note))
		}
		if start.After(tick) {
			later++
		}
	}
	if later == 0 {
		t.Error("no tick starts later")
	}
}

// A tick whose nominal time has passed, and that jitter makes start later, is still to
// come; once it has started it is not.
func TestNextHasWhatJitterDelays(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	info := roster.JobInfo{Name: "report", Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: at, ConfigHash: "c", Jitter: 50 * time.Minute}
	every, err := info.Ticks()
	if err != nil {
		t.Fatal(err)
	}
	peers := new(schedtest.Roster)
	if err := peers.Publish(t.Context(), []roster.JobInfo{info}); err != nil {
		t.Fatal(err)
	}
	if _, err := peers.Beat(t.Context(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady}); err != nil {
		t.Fatal(err)
	}
	start := info.Start(every, at)
	if !start.After(at.Add(time.Second)) {
		t.Fatalf("the tick starts at %s: choose another", start)
	}
	for from, want := range map[time.Time]time.Time{
		at.Add(-time.Second): at, at: at, at.Add(time.Millisecond): at, start.Add(-time.Millisecond): at,
		start: at.Add(time.Hour), start.Add(time.Minute): at.Add(time.Hour),
	} {
		rows, err := view.Reader{Records: store.Records{Roster: peers, Commands: new(schedtest.Commands)}}.Next(t.Context(), "", from, 2)
		if err != nil || len(rows) != 2 || rows[0].Tick != *view.Stamp(want) || rows[1].Tick != *view.Stamp(want.Add(time.Hour)) {
			t.Errorf("from %s: %+v, %v, want the tick %s and the one after it", from, rows, err, want)
		}
	}
}

// The tick of a paused job is not announced as one that runs.
func TestNextSaysWhatIsPaused(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	var all []roster.JobInfo
	for _, j := range []roster.JobInfo{{Name: "by-hand"}, {Name: "by-tag", Tags: []string{"finance"}}, {Name: "for-a-while", Tags: []string{"bank"}}, {Name: "free"}, {Name: "in-file", Paused: true}} {
		j.Schedule, j.Definition, j.Timezone, j.Replica, j.Published, j.ConfigHash = "@every 1h", `{"spec":"@every 1h"}`, "UTC", "a", at, "c"
		all = append(all, j)
	}
	peers, kept := new(schedtest.Roster), new(schedtest.Commands)
	if err := peers.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := peers.Beat(t.Context(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []commands.Command{{Job: "by-hand"}, {Tag: "finance"}, {Tag: "bank", Until: at.Add(90 * time.Minute)}} {
		command.Kind, command.By, command.Reason = commands.Pause, "ann", "the bank is down"
		if _, err := kept.Do(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := view.Reader{Records: store.Records{Roster: peers, Commands: kept}}.Next(t.Context(), "", at, 10)
	if err != nil || len(rows) != 10 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for i, want := range []string{"the bank is down", "tag finance", "tag bank", "", "paused", "the bank is down", "tag finance", "", "", "paused"} {
		paused := view.Text(rows[i].Paused)
		if !strings.Contains(paused, want) || (want == "") != (rows[i].Paused == nil) {
			t.Errorf("%s at %s: paused %q, want %q", rows[i].Job, rows[i].Tick, paused, want)
		}
	}
}
