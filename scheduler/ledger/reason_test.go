package ledger

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

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

var midday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func fullDetails() *Details {
	return &Details{
		Holder: "r1", Tick: midday, Since: midday.Add(time.Second), Until: midday.Add(time.Minute), By: "ann", Of: "g",
		N: 2, Most: 3, Token: 4, Seen: 5, Text: "said", With: &Reason{Code: CodeSplit},
	}
}

func TestWordsOfReasons(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reason{
		"": {},
		"overlap: r1 still holds the lease of tick 2026-11-21T12:00:00Z": {CodeOverlap, "", &Details{Holder: "r1", Tick: midday}},
		"overlap: r1 still holds the lease":                              {CodeOverlap, "", &Details{Holder: "r1"}},
		"no quorum":                                                      {Code: CodeNoQuorum},
		"catch_up: more than max=7 (no quorum: a: down)":                 {CodeCatchUp, VariantMax, &Details{Most: 7, With: &Reason{CodeNoQuorum, "", &Details{Text: "a: down"}}}},
		"paused: tag x by ann since 2026-11-21T12:00:00Z: so":            {CodePaused, "", &Details{Of: "tag x", By: "ann", Since: midday, Text: "so"}},
		"paused: by ann since 2026-11-21T12:00:00Z: so":                  {CodePaused, "", &Details{By: "ann", Since: midday, Text: "so"}},
		"run was cancelled by ann":                                       {CodeCancelled, "", &Details{By: "ann"}},
		"run was cancelled":                                              {Code: CodeCancelled},
		"the lease could not be kept; 1 stale write refused (token 4, the sink has seen 5); b was not triggered: x": Reason{Code: CodeLost}.
			And(Reason{CodeStaleWrites, "", &Details{N: 1, Token: 4, Of: "the sink", Seen: 5}}).
			And(Reason{CodeNotTriggered, "", &Details{Of: "b", Text: "x"}}),
		"said {by} [x]":   TextReason("said {by} [x]"),
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
