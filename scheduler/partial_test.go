package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// halfRoster has no quorum for the jobs named west while half is set.
type halfRoster struct {
	Roster
	half      bool
	versions  []JobInfo
	published []JobInfo
}

func (r *halfRoster) err() error {
	if !r.half {
		return nil
	}
	return &ledger.PartialError{Err: locking.ErrNoQuorum, Lacks: func(key string) bool { return key == "west" }}
}

func (r *halfRoster) Jobs(context.Context) ([]JobInfo, error) {
	var list []JobInfo
	for _, j := range r.versions {
		if !r.half || j.Name != "west" {
			list = append(list, j)
		}
	}
	return list, r.err()
}

func (r *halfRoster) Publish(_ context.Context, jobs []JobInfo) error {
	r.published = append(r.published, jobs...)
	return r.err()
}

// While some jobs cannot be published, the others are, once. The rest are published after
// their start of service was read.
func TestPublishesWhatCanBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := time.Now().Add(-time.Hour)
		r := &halfRoster{half: true}
		for _, name := range []string{"east", "west"} {
			r.versions = append(r.versions, JobInfo{Name: name, Hash: "1", Since: long, Published: time.Now()})
		}
		p := newPublisher(Config{Stores: Stores{Roster: r}, Replica: "a"}.WithDefaults())
		p.serve([]*job.Job{{Definition: Job{Name: "east", Key: "east", Hash: "1", Schedule: schedule.Every{Interval: time.Hour}}}, {Definition: Job{Name: "west", Key: "west", Hash: "1", Schedule: schedule.Every{Interval: time.Hour}}}})
		for range 2 {
			if p.publish(t.Context()) {
				t.Error("all is said to be published")
			}
		}
		r.half = false
		if !p.publish(t.Context()) {
			t.Error("what was lacking is not published later")
		}
		var names []string
		for _, j := range r.published {
			names = append(names, j.Name)
			if !j.Since.Equal(long) {
				t.Errorf("%s is served since %v, want %v", j.Name, j.Since, long)
			}
		}
		if !slices.Equal(names, []string{"east", "west"}) {
			t.Errorf("published %v", names)
		}
	})
}

func TestPartialErrors(t *testing.T) {
	t.Parallel()
	r := &halfRoster{half: true}
	if roster.IgnorePartial(r.err()) != nil || !errors.Is(roster.IgnorePartial(locking.ErrNoQuorum), locking.ErrNoQuorum) || !errors.Is(r.err(), locking.ErrNoQuorum) {
		t.Error("a part of an answer is taken for none, or none for a part")
	}
	if roster.Lacks(nil, "west") || roster.Lacks(r.err(), "east") || !roster.Lacks(r.err(), "west") || !roster.Lacks(locking.ErrNoQuorum, "east") {
		t.Error("what is lacking is not told apart")
	}
}

// halfLedger cannot record job west.
type halfLedger struct{ ledger.Store }

func (halfLedger) Parts() int { return 2 }
func (halfLedger) Part(key string) int {
	if key == "west" {
		return 1
	}
	return 0
}

func (halfLedger) Record(_ context.Context, e ledger.Entry) (first bool, err error) {
	if e.Job == "west" {
		return false, locking.ErrNoQuorum
	}
	return true, nil
}

// Failing records do not delay others.
func TestRecordersAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var recorded []string
		r := newRecorders(Config{Stores: Stores{Ledger: halfLedger{}}, RecordQueue: 10, Observer: func(e Event) {
			if e.Kind == EventRecorded && e.Err == nil {
				recorded = append(recorded, e.Entry.Job)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.run(ctx); close(done) }()
		r.add(&job.Job{Definition: Job{Name: "west"}}, ledger.Entry{Job: "west"})
		synctest.Wait()
		r.add(&job.Job{Definition: Job{Name: "east"}}, ledger.Entry{Job: "east"})
		synctest.Wait()
		if !slices.Equal(recorded, []string{"east"}) {
			t.Errorf("recorded %v", recorded)
		}
		r.flush()
		cancel()
		<-done
	})
}
