package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// hourly is a schedule that counts how often it is asked.
type hourly struct{ asked int }

// Next implements scheduler.Schedule.
func (h *hourly) Next(after time.Time) time.Time {
	h.asked++
	return after.Truncate(time.Hour).Add(time.Hour)
}

// entriesOf is a store of one job that has entries of these hours of its life.
type entriesOf struct {
	stores
	begun time.Time
	hours string // "x" for an entry
	since time.Time

	trimmed time.Time
}

type stores interface{ store.Ledger }

func (s entriesOf) Ticks(_ context.Context, q ledger.Query) ([]ledger.Entry, error) {
	var list []ledger.Entry
	for i := len(s.hours) - 1; i >= 0; i-- {
		e := ledger.Entry{Tick: s.begun.Add(time.Duration(i) * time.Hour), Outcome: ledger.Succeeded, Trigger: ledger.BySchedule}
		if s.hours[i] == 'x' && q.Wants(e) && len(list) < q.Limit {
			list = append(list, e)
		}
	}
	return list, nil
}

func (s entriesOf) Skim(_ context.Context, list []ledger.Stretch, _ bool) ([]ledger.Skimmed, error) {
	return slices.Repeat([]ledger.Skimmed{{Trimmed: s.trimmed}}, len(list)), nil
}

func (s entriesOf) RemembersSince() (time.Time, bool) { return s.since, true }

// Ticks that have no entry are shown: between entries, and since the last one where no
// replica serves the job. It is 24.5 hours after the job was served first.
func TestTicksWithoutAnEntryAreShown(t *testing.T) {
	t.Parallel()
	const all = "-xxxxxxxxxxxxxxxxxxxxxxxx"
	hole := all[:10] + "--" + all[12:]
	for _, tt := range []struct {
		name    string
		hours   string
		served  bool
		never   bool           // nothing was ever lost
		account roster.Account // of hours after the first
		q       ledger.Query
		lost    time.Duration
		trimmed time.Duration
		want    string
	}{
		{name: "none", hours: all, served: true},
		{name: "between entries", hours: hole, served: true, want: "11 unknown, 10 unknown"},
		{name: "that may be on the way", hours: hole[:24], served: true, want: "11 unknown, 10 unknown"},
		{name: "accounted for, but lost", hours: hole, served: true, account: account(24, 0, 0), lost: 11 * time.Hour, want: "11 unknown, 10 history_lost"},
		{name: "trimmed", hours: hole, served: true, trimmed: 10 * time.Hour, want: "11 unknown, 10 history_trimmed"},
		{name: "trimmed and nothing is left", hours: "", account: account(0, 0, 0), trimmed: 23 * time.Hour, q: ledger.Query{Limit: 2}, want: "24 unknown, 23 history_trimmed"},
		{name: "of a filter", hours: hole, served: true, q: ledger.Query{Outcomes: []ledger.Outcome{ledger.Missed}}, want: "11 unknown, 10 unknown"},
		{name: "of another filter", hours: hole, served: true, q: ledger.Query{Outcomes: []ledger.Outcome{ledger.Failed}}},
		{name: "limit", hours: hole, served: true, q: ledger.Query{Limit: 13}},
		{name: "the next page", hours: hole, served: true, q: ledger.Query{Limit: 14, Before: hour(12)}, want: "11 unknown, 10 unknown"},
		{name: "a page of its own", hours: hole, served: true, q: ledger.Query{Since: hour(10), Before: hour(12)}, want: "11 unknown, 10 unknown"},
		{name: "before the oldest entry", hours: "-----xxxxxxxxxxxxxxxxxxxx", served: true, account: account(24, 0, 0)},
		{name: "not accounted for", hours: "-----xxxxxxxxxxxxxxxxxxxx", served: true, account: account(3, 0, 0)}, // or not kept
		{name: "the first page after the last entry", hours: "-----xxxxxxxxxxxxxxxxxxxx", account: account(24, 0, 0), q: ledger.Query{Before: hour(5)}},
		{name: "the oldest were lost", hours: "------xxxxxxxxxxxxxxxxxxx", served: true, account: account(24, 0, 0), lost: 4 * time.Hour, want: "3 history_lost, 2 history_lost, 1 history_lost"},
		{name: "nobody is there", hours: all[:22], want: "24 unknown, 23 unknown, 22 unknown"},
		{name: "all have stopped", hours: all[:22], account: account(22, 22, 0), want: "24 no_replica, 23 no_replica, 22 no_replica"},
		{name: "all have stopped and nothing was ever lost", hours: all[:22], never: true, account: account(22, 22, 0), want: "24 no_replica, 23 no_replica, 22 no_replica"},
		{name: "the oldest are not kept and nothing was ever lost", hours: "-----xxxxxxxxxxxxxxxxxxxx", served: true, never: true, account: account(24, 0, 0)},
		{name: "removed", hours: all[:20], account: account(20, 0, 22), want: "22 unknown, 21 unknown, 20 unknown"},
		{name: "nothing ran yet", hours: "", account: account(0, 0, 0), q: ledger.Query{Limit: 2}, want: "24 unknown, 23 unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(24*time.Hour + 30*time.Minute)
				s := new(hourly)
				v := roster.Version{Live: tt.served, JobInfo: roster.JobInfo{
					Name: "j", Hash: "1", Since: hour(0), Published: hour(0), Account: tt.account,
				}}
				v.Account.First = hour(0)
				kept := entriesOf{begun: hour(0), hours: tt.hours, since: hour(0).Add(tt.lost)}
				if tt.never {
					kept.since = time.Time{}
				}
				if tt.trimmed > 0 {
					kept.trimmed = hour(0).Add(tt.trimmed)
				}
				r := Reader{Records: store.Records{Ledger: kept}, Served: func(roster.JobInfo) (schedule.Schedule, bool) { return s, true }}
				q := tt.q
				if q.Job = "j"; q.Limit == 0 {
					q.Limit = 100
				}
				have, err := kept.Ticks(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				list, err := r.unrecorded(t.Context(), newDirectory([]roster.Version{v}), q, have)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range list {
					got = append(got, strings.TrimPrefix(e.Tick.Sub(hour(0)).String(), "-")+" "+string(e.Reason.Code))
					if NewTick(e).Recorded {
						t.Errorf("%+v is not marked as computed", e)
					}
				}
				if text := strings.ReplaceAll(strings.Join(got, ", "), "h0m0s", ""); text != tt.want {
					t.Errorf("got %q, want %q", text, tt.want)
				}
				if s.asked > 200 {
					t.Errorf("the schedule was asked %d times", s.asked)
				}
			})
		})
	}
}

// A tick that nobody recorded has a page; one that is on its way, or that the schedule does not have, has none.
func TestFindComputedTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4*time.Hour + 30*time.Minute)
		v := roster.Version{Live: true, JobInfo: roster.JobInfo{Name: "j", Hash: "1", Since: hour(0), Published: hour(0), Account: roster.Account{First: hour(0), Until: hour(4)}}}
		r := Reader{
			Records: store.Records{Ledger: runless{entriesOf{begun: hour(0), hours: "-xx-x", since: hour(0)}}},
			Served:  func(roster.JobInfo) (schedule.Schedule, bool) { return new(hourly), true },
			Cache:   &DirectoryCache{For: time.Hour, last: &reading{began: time.Now(), done: make(chan struct{}), d: newDirectory([]roster.Version{v})}},
		}
		close(r.Cache.last.done)
		for at, want := range map[time.Time]ledger.Outcome{
			hour(2): ledger.Succeeded, hour(3): ledger.Missed, hour(3).Add(time.Minute): "", hour(5): "",
		} {
			f, err := r.Find(t.Context(), ledger.Entry{Job: "j", Tick: at}.ID())
			switch {
			case want == "" && !errors.Is(err, ErrNotFound):
				t.Errorf("%s: %+v, %v; want not found", at, f, err)
			case want != "" && (err != nil || len(f.Attempts) != 1 || f.Attempts[0].Outcome != want || f.Attempts[0].Computed != (want == ledger.Missed)):
				t.Errorf("%s: %+v, %v; want %s", at, f, err, want)
			}
		}
	})
}

// runless has no runs.
type runless struct{ entriesOf }

func (runless) Runs(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

// hour is n hours after virtual time begins.
func hour(n int) time.Time { return time.Date(2000, 1, 1, n, 0, 0, 0, time.UTC) }

// account is accounted for until one hour, stopped and removed at others; 0: never.
func account(until, stopped, removed int) roster.Account {
	at := func(n int) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return hour(n)
	}
	return roster.Account{Until: at(until), Stopped: at(stopped), Removed: at(removed)}
}
