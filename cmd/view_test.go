package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// shown returns what a view of the given width prints of one run of job.
func shown(width int, job string) []string {
	var out bytes.Buffer
	v := newDisplay(&out, func() int { return width }, []string{"tick-and-token", job})
	v.header("header")
	o := v.observer("a")
	o(event.Event{Kind: event.Claimed, Run: "run", Took: 120 * time.Millisecond})
	o(event.Event{Kind: event.Finished, Run: "run", Entry: ledger.Entry{
		Job: job, Tick: tick, Replica: "a", Token: 1882457284542464, Outcome: ledger.Succeeded,
		Lease: ledger.Lease{Votes: locking.Votes{For: 5, Of: 5}}, Started: tick, Finished: tick.Add(59900 * time.Millisecond),
	}})
	v.flush("status")
	return strings.Split(out.String(), "\n")
}

func TestViewFits(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	lines := shown(80, "nightly-report")
	for _, line := range lines {
		line = strings.TrimPrefix(line, "\r\x1b[K")
		if n := len([]rune(line)); n > 79 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := lines[len(lines)-1]; got != "status" {
		t.Errorf("the last line of a terminal is %q, want the status", got)
	}
	if row := lines[3]; !strings.Contains(row, "02:00:00  nightly-report  a   1882457284542464  5/5   120ms 59.9s  succeeded") {
		t.Errorf("a tick is shown as %q", row)
	}
}

// A run that has a reason and an error shows both, apart.
func TestViewSaysWhy(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newDisplay(&out, func() int { return 0 }, nil)
	v.observer("a")(event.Event{Kind: event.Finished, Entry: ledger.Entry{
		Job: "j", Tick: tick, Outcome: ledger.TimedOut, Reason: ledger.Reason{Code: ledger.CodeTimeout}, Error: "timeout of the job reached",
	}})
	v.flush("")
	if want := "timed_out: the run took longer than its timeout; timeout of the job reached\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// A tick that one replica did not run is shown as missed once nobody has run it, and all of its
// texts where no terminal bounds them.
func TestViewTellsOfSettledMisses(t *testing.T) {
	t.Parallel()
	job, why := strings.Repeat("long", 20), strings.Repeat("the nodes are away ", 20)
	entry := ledger.Entry{Job: job, Tick: tick, Outcome: ledger.Missed, Reason: ledger.TextReason(why)}
	for want, told := range map[bool][]event.Event{
		true:  {{Kind: event.Settled, Entry: entry}},
		false: {{Kind: event.Decided, Entry: entry}, {Kind: event.Settled, Entry: entry, Err: event.ErrDropped}}, // another one may have run it
	} {
		var out bytes.Buffer
		v := newDisplay(&out, func() int { return 0 }, []string{job})
		for _, event := range told {
			v.observer("a")(event)
			v.observer("b")(event)
		}
		v.flush("")
		text := out.String()
		if told := strings.Contains(text, job) && strings.Contains(text, strings.TrimSpace(why)); told != want || strings.Contains(text, "…") || strings.Count(text, "missed") > 1 {
			t.Errorf("%v: %q", told, text)
		}
	}
}

func TestViewColours(t *testing.T) {
	for _, tc := range []struct {
		noColor string
		width   int
		want    bool
	}{{"", 80, true}, {"1", 80, false}, {"", 0, false}} {
		t.Setenv("NO_COLOR", tc.noColor)
		text := strings.Join(shown(tc.width, "a"), "\n")
		if got := strings.Contains(text, "\x1b[32msucceeded\x1b[0m"); got != tc.want {
			t.Errorf("NO_COLOR=%q, width %d: colour %v, want %v", tc.noColor, tc.width, got, tc.want)
		}
		if tc.width == 0 && strings.ContainsAny(text, "\r\x1b") {
			t.Errorf("escapes without a terminal: %q", text)
		}
	}
}
