package cmd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parse := func(flags string) (view.EntryQuery, error) {
			var s selection
			c := new(cobra.Command)
			selectionFlags(c, &s)
			err := c.ParseFlags(strings.Fields(flags))
			return s.query, err
		}
		now := time.Now()
		q, err := parse("--since 24h --until 2026-12-01T01:00:00Z --outcome failed,missed --outcome skipped --trigger manual --limit 7")
		if err != nil || !q.Since.Equal(now.Add(-24*time.Hour)) || !q.Before.Equal(tick.Add(-time.Hour)) || q.Limit != 7 ||
			fmt.Sprint(q.Outcomes, q.Triggers) != "[failed missed skipped] [manual]" {
			t.Errorf("query = %+v, %v", q, err)
		}
		for flags, want := range map[string]string{
			"--since lately":       "--since lately: write",
			"--until 5":            "--until 5: write",
			"--outcome failed,won": "--outcome won: write",
			"--trigger cron":       "--trigger cron: write",
		} {
			_, err := parse(flags)
			if !failure.IsUsage(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want a usage error with %q", flags, err, want)
			}
		}
	})
}

// A listing has as many rows as --limit says, of all jobs together. Following
// looks at more than that, or it would not see long runs end.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		app := &cli{App: App{Out: &out, Err: &out}, format: "table"}
		ctx, cancel := context.WithCancel(t.Context())
		looks := 0
		read := func(_ context.Context, q view.EntryQuery) ([]view.Run, error) {
			var all []view.Run
			for n := range min(q.Limit, 30) {
				all = append(all, view.NewRun(ledger.Entry{Job: "j", Tick: tick.Add(-time.Duration(n) * time.Second), Token: 1, Outcome: ledger.Succeeded}))
			}
			if looks++; looks == 1 {
				all[20].Outcome = ledger.Running
			} else if looks == 3 {
				cancel()
			}
			return all, nil
		}
		two := view.EntryQuery{Limit: 2}
		if err := show(ctx, app, selection{two, true}, runSource(read)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "succeeded"); n != 3 {
			t.Errorf("%d rows, want two of the past and the long run that ended later:\n%s", n, &out)
		}
		out.Reset()
		more := func(ctx context.Context, _ view.EntryQuery) ([]view.Run, error) {
			return read(ctx, view.EntryQuery{Limit: 30})
		}
		if err := show(t.Context(), app, selection{two, false}, runSource(more)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "succeeded"); n != 2 {
			t.Errorf("%d rows, want 2:\n%s", n, &out)
		}
	})
}

// A follower shows ended runs once and in order, whatever the next poll repeats; it
// continues after an outage.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, follows)
}

func follows(t *testing.T) {
	t.Helper()
	e := func(n int, o ledger.Outcome) view.Run {
		return view.NewRun(ledger.Entry{Job: "j", Tick: tick.Add(time.Duration(n) * time.Second), Token: locking.Token(n), Outcome: o})
	}
	var first []view.Run
	for n := range 30 {
		first = append(first, e(30-n, ledger.Succeeded))
	}
	looks := []func() ([]view.Run, error){
		func() ([]view.Run, error) {
			return append([]view.Run{e(31, ledger.Running)}, first...), nil
		},
		func() ([]view.Run, error) { return nil, locking.ErrNoQuorum },
		func() ([]view.Run, error) { return nil, cluster.ErrUnreachable },
		func() ([]view.Run, error) {
			return append([]view.Run{e(33, ledger.Running), e(32, ledger.Missed), e(31, ledger.Failed)}, first...), nil
		},
		func() ([]view.Run, error) {
			return append([]view.Run{e(33, ledger.Succeeded), e(32, ledger.Missed), e(31, ledger.Failed)}, first...), nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var warned, got strings.Builder
	f := follower[view.Run]{warn: (&cli{App: App{Err: &warned}}).warn, first: followFirst, source: runSource(func(context.Context, view.EntryQuery) ([]view.Run, error) {
		if len(looks) == 0 {
			cancel()
			return nil, ctx.Err()
		}
		look := looks[0]
		looks = looks[1:]
		return look()
	})}
	err := f.follow(ctx, func(rows []view.Run) error {
		for _, r := range rows {
			fmt.Fprint(&got, view.Time(&r.Tick).Second(), " ", r.Outcome, ", ")
		}
		got.WriteString("| ")
		return nil
	})
	var want strings.Builder
	for n := range 10 {
		fmt.Fprintf(&want, "%d succeeded, ", 21+n)
	}
	want.WriteString("| 31 failed, 32 missed, | 33 succeeded, | ")
	if err != nil || got.String() != want.String() {
		t.Errorf("shown: %s, %v\nwant: %s", &got, err, &want)
	}
	if strings.Count(warned.String(), "\n") != 1 {
		t.Errorf("an outage is told as %q", warned.String())
	}
}
