package scheduler

import (
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/schedule"
)

// everySecond ticks on whole seconds and counts its calls.
type everySecond struct{ asked *int }

func (s everySecond) Next(after time.Time) time.Time {
	*s.asked++
	return after.Truncate(time.Second).Add(time.Second)
}

// once ticks at one instant.
type once struct{ at time.Time }

func (s once) Next(after time.Time) time.Time {
	if after.Before(s.at) {
		return s.at
	}
	return time.Time{}
}

// daily ticks at midnight UTC.
type daily struct{}

func (daily) Next(after time.Time) time.Time {
	return after.Truncate(24 * time.Hour).Add(24 * time.Hour)
}

func TestSleptThrough(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	second := everySecond{new(int)}
	tests := []struct {
		name     string
		schedule schedule.Schedule
		due      time.Time
		late     time.Duration // now - due

		missed   int
		from     time.Duration // the first of them, after due
		open     time.Duration // after due; negative: none
		until    time.Duration // after due
		next     time.Duration // after due; 0: never
		leftOut  bool          // from due on
		recorded time.Duration // ticks are recorded one by one from here, after due
	}{
		{name: "on time", schedule: second, due: noon, open: 0, until: time.Second, next: time.Second},
		{name: "late within the window", schedule: second, due: noon, late: 900 * time.Millisecond, open: 0, until: time.Second, next: time.Second},
		{name: "three seconds late", schedule: second, due: noon, late: 3 * time.Second, missed: 3, open: 3 * time.Second, until: 4 * time.Second, next: 4 * time.Second},
		{name: "a long period, still open", schedule: daily{}, due: noon.Truncate(24 * time.Hour), late: 29 * time.Second, open: 0, until: window, next: 24 * time.Hour},
		{name: "a long period, closed", schedule: daily{}, due: noon.Truncate(24 * time.Hour), late: window, missed: 1, open: -1, next: 24 * time.Hour},
		{name: "once, still open", schedule: once{noon}, due: noon, late: time.Second, open: 0, until: window},
		{name: "once, closed", schedule: once{noon}, due: noon, late: time.Minute, missed: 1, open: -1},
		{name: "just not too many", schedule: second, due: noon, late: maxOverslept * time.Second, missed: maxOverslept, open: maxOverslept * time.Second, until: (maxOverslept + 1) * time.Second, next: (maxOverslept + 1) * time.Second},
		{name: "a night", schedule: second, due: noon, late: 8 * time.Hour, missed: maxOverslept + 1, from: 8*time.Hour - (maxOverslept+1)*time.Second, open: 8 * time.Hour, until: 8*time.Hour + time.Second, next: 8*time.Hour + time.Second, leftOut: true, recorded: 8*time.Hour - maxOverslept*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := job.New(jobs.Job{Name: "j", Schedule: tt.schedule, Hash: "1"})
			o := sortDue(j, j.Scheduled(tt.due, window), tt.due.Add(tt.late), window)
			if len(o.missed) != tt.missed {
				t.Errorf("%d ticks missed, want %d", len(o.missed), tt.missed)
			}
			for i, missed := range o.missed {
				if want := tt.due.Add(tt.from + time.Duration(i)*time.Second); !missed.At.Equal(want) {
					t.Fatalf("missed tick %d is %v, want %v", i, missed.At, want)
				}
			}
			var open, until time.Time
			if tt.open >= 0 {
				open, until = tt.due.Add(tt.open), tt.due.Add(tt.until)
			}
			if o.open.At != open || o.open.Until != until {
				t.Errorf("open: %v until %v, want %v until %v", o.open.At, o.open.Until, open, until)
			}
			if want := after(tt.due, tt.next); !o.next.At.Equal(want) {
				t.Errorf("next: %v, want %v", o.next.At, want)
			}
			if o.first.IsZero() == tt.leftOut || tt.leftOut && !o.first.Equal(tt.due) {
				t.Errorf("left out from %v: %t", o.first, tt.leftOut)
			}
			if want := after(tt.due, tt.recorded); !o.before.Equal(want) {
				t.Errorf("left out up to %v, want %v", o.before, want)
			}
		})
	}
}

// after is t+d, or the zero time for 0.
func after(t time.Time, d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return t.Add(d)
}

func TestSleptThroughIsBounded(t *testing.T) {
	t.Parallel()
	s := everySecond{new(int)}
	j := job.New(jobs.Job{Name: "j", Schedule: s, Hash: "1"})
	sortDue(j, j.Scheduled(noon, 30*time.Second), noon.AddDate(10, 0, 0), 30*time.Second)
	if *s.asked > 5*maxOverslept {
		t.Errorf("ten years of sleep asked the schedule %d times", *s.asked)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
