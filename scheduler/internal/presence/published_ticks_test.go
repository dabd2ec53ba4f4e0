package presence

import (
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A listing computes the ticks of a published job as its replicas do, or none.
func TestPublishedTicks(t *testing.T) {
	t.Parallel()
	christmas, long := schedule.NewCalendar("christmas", nil), schedule.NewCalendar("long", nil)
	if err := christmas.Add("2026-12-25"); err != nil {
		t.Fatal(err)
	}
	paris, err := schedule.LoadZone("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	night, err := schedule.Parse("30 2 * * *", schedule.Options{Location: paris})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Exclude(night, nil, christmas)
	if err != nil {
		t.Fatal(err)
	}
	for day := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 1984; day = day.AddDate(0, 0, 1) {
		if err := long.Add(day.Format(time.DateOnly)); err != nil {
			t.Fatal(err)
		}
	}
	tooLong, err := schedule.Exclude(s, nil, long)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		info roster.JobInfo
		want string
	}{
		"excluded":      {posted{Job: &job.Job{Job: jobs.Job{Schedule: s, Hash: "1"}}}.info("a"), "2026-12-26T01:30:00Z"},
		"no definition": {posted{Job: &job.Job{Job: jobs.Job{Schedule: unwritten{}, Spec: "@daily", Timezone: "UTC", Hash: "1"}}}.info("a"), ""},
		"too long":      {posted{Job: &job.Job{Job: jobs.Job{Schedule: tooLong, Spec: "@daily", Timezone: "UTC", Hash: "1"}}}.info("a"), ""},
	} {
		got, err := tt.info.Ticks()
		switch {
		case tt.want == "" && !errors.Is(err, schedule.ErrNoDefinition):
			t.Errorf("%s: error %v, want ErrNoDefinition", name, err)
		case tt.want != "" && (err != nil || got.Next(from).Format(time.RFC3339) != tt.want):
			t.Errorf("%s: %v, %v, want %s", name, got, err, tt.want)
		}
	}
}

// unwritten is a schedule of another package, which has no definition.
type unwritten struct{ schedule.Schedule }
