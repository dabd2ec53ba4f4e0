package acts_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestReadyFillsIn(t *testing.T) {
	t.Parallel()
	got, err := acts.Act{Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\\u0000 \ud83D\uDE00 \n"}`)}.Ready()
	if err != nil {
		t.Errorf("params with other escapes: %s, %v", got.Params, err)
	}
	got, err = acts.Act{Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{ "b": 1 }`), Result: "done"}.Ready()
	if err != nil || got.ID == "" || got.Within != acts.DefaultWithin(acts.Trigger) || got.Trigger != ledger.ByManual {
		t.Errorf("%+v, %v", got, err)
	}
	if string(got.Params) != `{"b":1}` || got.Result != "" {
		t.Errorf("params %s, result %q", got.Params, got.Result)
	}
	if got, err = (acts.Act{Kind: acts.Backfill, Job: "j", From: time.Unix(1, 0), To: time.Unix(2, 0)}).Ready(); err != nil || got.Concurrency != 1 {
		t.Errorf("a backfill has concurrency %d, %v", got.Concurrency, err)
	}
}

func TestReadyRefuses(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]acts.Act{
		"no kind":            {Job: "j"},
		"odd id":             {Kind: acts.Trigger, Job: "j", ID: "a b"},
		"no job":             {Kind: acts.Trigger},
		"job and tag":        {Kind: acts.Trigger, Job: "j", Tag: "t"},
		"waits too long":     {Kind: acts.Trigger, Job: "j", Within: 31 * 24 * time.Hour},
		"a zero":             {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\\\u0000"}`)},
		"half a pair":        {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\uD83d and more"}`)},
		"a pair turned":      {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\ude00\ud83d"}`)},
		"no UTF-8":           {Kind: acts.Trigger, Job: "j", Params: json.RawMessage("{\"x\":\"\xff\"}")},
		"params of a list":   {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`[1]`)},
		"params of a cancel": {Kind: acts.Cancel, Job: "j", Run: "r", Params: json.RawMessage(`{}`)},
		"no run":             {Kind: acts.Cancel, Job: "j"},
		"empty range":        {Kind: acts.Backfill, Job: "j", From: time.Unix(2, 0), To: time.Unix(2, 0)},
		"two targets":        {Kind: acts.Resume, All: true, Job: "j"},
		"pause without why":  {Kind: acts.Pause, Job: "j", By: "ann"},
		"odd tag":            {Kind: acts.Pause, Tag: "-", By: "ann", Reason: "so"},
		"long reason":        {Kind: acts.Resume, Job: "j", Reason: strings.Repeat("x", acts.MaxText+1)},
		"long name":          {Kind: acts.Trigger, Job: strings.Repeat("x", acts.MaxName+1)},
		"deep params":        {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`)},
		"an engine's id":     {Kind: acts.Trigger, Job: "j", ID: "+0123456789abcdef0123456789abcdef"},
		"long params":        {Kind: acts.Trigger, Job: "j", Params: json.RawMessage(`{"x":"` + strings.Repeat("x", acts.MaxParams) + `"}`)},
		"too many at once":   {Kind: acts.Backfill, Job: "j", From: time.Unix(1, 0), To: time.Unix(2, 0), Concurrency: acts.MaxConcurrency + 1},
		"trigger at once":    {Kind: acts.Trigger, Job: "j", Concurrency: 2},
		"zero in job":        {Kind: acts.Trigger, Job: "j\x00"},
		"zero in author":     {Kind: acts.Trigger, Job: "j", By: "ann\x00"},
		"zero in reason":     {Kind: acts.Pause, All: true, By: "ann", Reason: "so\x00"},
		"no UTF-8 in reason": {Kind: acts.Pause, All: true, By: "ann", Reason: "so\xff"},
	} {
		if _, err := act.Ready(); !errors.As(err, new(*acts.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Acts with one id differ by their effect, not by their author or time.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	one := acts.Act{ID: "a", Kind: acts.Trigger, Job: "j", By: "ann", At: time.Unix(1, 0)}
	same, other := one, one
	same.ID, same.By, same.At, same.Result = "b", "bob", time.Unix(2, 0), "done"
	other.Params = json.RawMessage(`{"x":1}`)
	if one.Fingerprint() != same.Fingerprint() || one.Fingerprint() == other.Fingerprint() {
		t.Errorf("%s, %s, %s", one.Fingerprint(), same.Fingerprint(), other.Fingerprint())
	}
}
