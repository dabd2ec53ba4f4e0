package listing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// Ticks to come say when they start, as the replica that runs them has it.
func TestNextSaysTheJitter(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	every, err := scheduler.ParseSchedule("@every 1h", scheduler.ScheduleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roster := new(schedtest.Roster)
	info := scheduler.JobInfo{Name: "report", Schedule: "@every 1h", Timezone: "UTC", Replica: "a", Published: at, ConfigHash: "c", Jitter: 10 * time.Minute}
	plain := scheduler.JobInfo{Name: "sweep", Schedule: "@every 1h", Timezone: "UTC", Replica: "a", Published: at, ConfigHash: "c"}
	if err := roster.Publish(t.Context(), []scheduler.JobInfo{info, plain}); err != nil {
		t.Fatal(err)
	}
	if _, err := roster.Beat(t.Context(), scheduler.Replica{ID: "a", ConfigHash: "c", State: scheduler.StateReady}); err != nil {
		t.Fatal(err)
	}
	rows, err := listing.Reader{Roster: roster}.Next(t.Context(), "", at, 6)
	if err != nil || len(rows) != 6 {
		t.Fatalf("%+v, %v", rows, err)
	}
	job := scheduler.Job{Name: "report", Schedule: every, Jitter: info.Jitter}
	later := 0
	for _, row := range rows {
		tick, start := listing.Time(&row.Tick), listing.Time(row.Start)
		want := tick
		if row.Job == "report" {
			want = job.Start(tick)
		}
		if !start.Equal(want) || strings.Contains(listing.Text(row.Note), "by jitter") != start.After(tick) {
			t.Errorf("%s at %s starts at %s, want %s: %q", row.Job, row.Tick, start, want, listing.Text(row.Note))
		}
		if start.After(tick) {
			later++
		}
	}
	if later == 0 {
		t.Error("no tick starts later")
	}
}
