package scheduler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// What refused claims lead to has the code of its cause.
func TestCodesOfRefusals(t *testing.T) {
	t.Parallel()
	down := locking.NodeError{Node: "a", Err: errors.New("down")}
	tests := map[error]Code{
		locking.ErrTaken: CodeOverlap, locking.ErrClaimed: CodeUndecided, locking.ErrSuperseded: CodeSuperseded,
		locking.ErrUnvouched: CodeUnvouched, locking.ErrSplit: CodeSplit, locking.ErrNoQuorum: CodeNoQuorum,
		locking.ErrTooSlow: CodeTooSlow, locking.ErrFuture: CodeClock, locking.ErrNodeAhead: CodeClock, locking.ErrRefused: CodeRefused,
		errors.New("never heard of"): CodeOther,
	}
	for reason, want := range tests {
		err := refusal(reason, down)
		err.Holder = "r1"
		v := judge(err, "r1")
		if v.kind == again {
			v = atWindowEnd(err, tick{at: noon})
		}
		if v.reason.Code != want {
			t.Errorf("%v: %q has code %s, want %s", reason, v.reason, v.reason.Code, want)
		}
		if got := noSlot(err, tick{at: noon}).reason; got.Code != CodeLimit || got.with() == nil {
			t.Errorf("%v of a slot has code %s: %s", reason, got.Code, got)
		}
	}
}

func TestCodesOfTicksThatDidNotRun(t *testing.T) {
	t.Parallel()
	run := &attempt{surroundings: &surroundings{cfg: &Config{MaxRunning: 1}}, job: &Job{Group: "g"}}
	tests := []struct {
		got  Reason
		want Code
	}{
		{queued().reason, CodeOverlap},
		{overlapping("r1", noon, noon).reason, CodeOverlap},
		{CatchUp{}.not(VariantMax, missedFor(CodeSplit)).reason, CodeCatchUp},
		{(&Job{Paused: true}).paused(nil), CodePaused},
		{Act{By: "ann", Job: "j", At: noon}.paused(), CodePaused},
		{noSlot(&fullError{group: "g"}, tick{}).reason, CodeLimit},
		{run.slotless(cancelled(&stopError{}), nil).reason, CodeCancelled},
		{run.slotless(cancelled(locking.ErrLeaseLost), nil).reason, CodeLimit},
		{run.slotless(cancelled(jobs.ErrDraining), nil).reason, CodeDrained},
	}
	for _, tt := range tests {
		if tt.got.Code != tt.want {
			t.Errorf("%q has code %s, want %s", tt.got, tt.got.Code, tt.want)
		}
	}
}

func TestCodesOfRuns(t *testing.T) {
	t.Parallel()
	failed := errors.New("boom")
	tests := []struct {
		err, cause error
		want       Code
	}{
		{nil, nil, ""},
		{failed, nil, ""},
		{failed, jobs.ErrTimeout, CodeTimeout},
		{failed, errTryTimeout, CodeTimeout},
		{jobs.Skip("no quorum of guests"), nil, CodeFunction},
		{failed, locking.ErrLeaseLost, CodeLost},
		{failed, locking.ErrMaxHold, CodeMaxHold},
		{failed, &locking.EvictedError{Reason: "stuck"}, CodeEvicted},
		{failed, jobs.ErrDraining, CodeDrained},
		{failed, &stopError{Reason{Code: CodeReplaced}}, CodeReplaced},
		{failed, fmt.Errorf("x: %w", &stopError{Reason{Code: CodeCancelled}}), CodeCancelled},
	}
	for _, tt := range tests {
		o, got := outcome(tt.err, tt.cause)
		if got.Code != tt.want {
			t.Errorf("%s: %q has code %q, want %q", o, got, got.Code, tt.want)
		}
		both := got.And(Reason{Code: CodeStaleWrites}).And(Reason{Code: CodeNotTriggered})
		if !both.Has(CodeStaleWrites) || !both.Has(CodeNotTriggered) || tt.want != "" && both.Code != tt.want {
			t.Errorf("%q lost what it consists of: %q", got, both)
		}
	}
}

// Each sentence names details that there are, and outcomes that the code goes with.
func TestSentences(t *testing.T) {
	t.Parallel()
	full := fullDetails()
	seen := map[string]bool{}
	for _, s := range sentences {
		if key := fmt.Sprint(s.code, s.variant); seen[key] {
			t.Errorf("%s has two sentences for %q", s.code, s.variant)
		} else {
			seen[key] = true
		}
		for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(s.text, -1) {
			if m[1] != "text" && full.value(m[1]) == full.Text {
				t.Errorf("%s: there is no detail %q", s.code, m[1])
			}
		}
		if words := (Reason{s.code, s.variant, full}).String(); strings.ContainsAny(words, "{}[]") || strings.Contains(words, "  ") {
			t.Errorf("%s: %q", s.code, words)
		}
		if words := (Reason{Code: s.code, Variant: s.variant}).String(); strings.Contains(words, "()") || strings.Contains(words, "[") {
			t.Errorf("%s without details: %q", s.code, words)
		}
	}
}

func fullDetails() *Details {
	return &Details{
		Holder: "r1", Tick: noon, Since: noon.Add(time.Second), Until: noon.Add(time.Minute), By: "ann", Of: "g",
		N: 2, Most: 3, Token: 4, Seen: 5, Text: "said", With: &Reason{Code: CodeSplit},
	}
}

func TestWordsOfReasons(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reason{
		"": {},
		"overlap: r1 still holds the lease of tick 2026-11-21T12:00:00Z": overlapping("r1", noon, time.Time{}).reason,
		"overlap: r1 still holds the lease":                              overlapping("r1", time.Time{}, time.Time{}).reason,
		"no quorum":                                                      {Code: CodeNoQuorum},
		"catch_up: more than max=7 (no quorum: a: down)":                 CatchUp{Max: 7}.not(VariantMax, because(Missed, Reason{CodeNoQuorum, "", &Details{Text: "a: down"}})).reason,
		"paused: tag x by ann since 2026-11-21T12:00:00Z: so":            {CodePaused, "", &Details{Of: "tag x", By: "ann", Since: noon, Text: "so"}},
		"paused: by ann since 2026-11-21T12:00:00Z: so":                  {CodePaused, "", &Details{By: "ann", Since: noon, Text: "so"}},
		"run was cancelled by ann":                                       {CodeCancelled, "", &Details{By: "ann"}},
		"run was cancelled":                                              {Code: CodeCancelled},
		"the lease could not be kept; 1 stale write refused (token 4, the sink has seen 5); b was not triggered: x": Reason{Code: CodeLost}.
			And(Reason{CodeStaleWrites, "", &Details{N: 1, Token: 4, Of: "the sink", Seen: 5}}).
			And(Reason{CodeNotTriggered, "", &Details{Of: "b", Text: "x"}}),
		"said {by} [x]":   Said("said {by} [x]"),
		"of_later: words": {"of_later", "odd", &Details{Text: "words"}},
		"no quorum: odd":  {CodeNoQuorum, "odd", &Details{Text: "odd"}},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The ledger keeps every detail, and of a long chain of reasons the first ones.
func TestReasonsAreKept(t *testing.T) {
	t.Parallel()
	for _, s := range sentences {
		want := Reason{s.code, s.variant, fullDetails()}
		e, err := DecodeNote(EncodeNote(Entry{Reason: want}))
		if err != nil || !reflect.DeepEqual(e.Reason, want) {
			t.Errorf("%s: got %+v, %v", s.code, e.Reason.Details, err)
		}
	}
	var r Reason
	for range 100 {
		r = r.And(Reason{CodeNotTriggered, "", &Details{Of: strings.Repeat("x", 5000), Text: strings.Repeat("y", 5000)}})
	}
	if b := EncodeNote(Entry{Reason: r}); len(b) > 40_000 {
		t.Errorf("a chain of reasons takes %d bytes", len(b))
	}
}

func cancelled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
