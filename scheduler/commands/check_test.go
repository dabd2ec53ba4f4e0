package commands_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestReadyFillsIn(t *testing.T) {
	t.Parallel()
	got, err := commands.Command{Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\\u0000 \ud83D\uDE00 \n"}`)}.Ready()
	if err != nil {
		t.Errorf("params with other escapes: %s, %v", got.Params, err)
	}
	got, err = commands.Command{Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{ "b": 1 }`), Result: "done"}.Ready()
	if err != nil || got.ID == "" || got.Within != commands.DefaultWithin(commands.Trigger) || got.Trigger != ledger.ByManual {
		t.Errorf("%+v, %v", got, err)
	}
	if string(got.Params) != `{"b":1}` || got.Result != "" {
		t.Errorf("params %s, result %q", got.Params, got.Result)
	}
	if got, err = (commands.Command{Kind: commands.Backfill, Job: "j", From: time.Unix(1, 0), To: time.Unix(2, 0)}).Ready(); err != nil || got.Concurrency != 1 {
		t.Errorf("a backfill has concurrency %d, %v", got.Concurrency, err)
	}
}

func TestReadyRefuses(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]commands.Command{
		"no kind":            {Job: "j"},
		"odd id":             {Kind: commands.Trigger, Job: "j", ID: "a b"},
		"no job":             {Kind: commands.Trigger},
		"job and tag":        {Kind: commands.Trigger, Job: "j", Tag: "t"},
		"waits too long":     {Kind: commands.Trigger, Job: "j", Within: 31 * 24 * time.Hour},
		"a zero":             {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\\\u0000"}`)},
		"half a pair":        {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\uD83d and more"}`)},
		"a pair turned":      {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":"\ude00\ud83d"}`)},
		"no UTF-8":           {Kind: commands.Trigger, Job: "j", Params: json.RawMessage("{\"x\":\"\xff\"}")},
		"params of a list":   {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`[1]`)},
		"params of a cancel": {Kind: commands.Cancel, Job: "j", Run: "r", Params: json.RawMessage(`{}`)},
		"no run":             {Kind: commands.Cancel, Job: "j"},
		"empty range":        {Kind: commands.Backfill, Job: "j", From: time.Unix(2, 0), To: time.Unix(2, 0)},
		"two targets":        {Kind: commands.Resume, All: true, Job: "j"},
		"pause without why":  {Kind: commands.Pause, Job: "j", By: "ann"},
		"odd tag":            {Kind: commands.Pause, Tag: "-", By: "ann", Reason: "so"},
		"long reason":        {Kind: commands.Resume, Job: "j", Reason: strings.Repeat("x", commands.MaxText+1)},
		"long name":          {Kind: commands.Trigger, Job: strings.Repeat("x", commands.MaxName+1)},
		"deep params":        {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`)},
		"an engine's id":     {Kind: commands.Trigger, Job: "j", ID: "+0123456789abcdef0123456789abcdef"},
		"long params":        {Kind: commands.Trigger, Job: "j", Params: json.RawMessage(`{"x":"` + strings.Repeat("x", commands.MaxParams) + `"}`)},
		"too many at once":   {Kind: commands.Backfill, Job: "j", From: time.Unix(1, 0), To: time.Unix(2, 0), Concurrency: commands.MaxConcurrency + 1},
		"trigger at once":    {Kind: commands.Trigger, Job: "j", Concurrency: 2},
		"zero in job":        {Kind: commands.Trigger, Job: "j\x00"},
		"zero in author":     {Kind: commands.Trigger, Job: "j", By: "ann\x00"},
		"zero in reason":     {Kind: commands.Pause, All: true, By: "ann", Reason: "so\x00"},
		"no UTF-8 in reason": {Kind: commands.Pause, All: true, By: "ann", Reason: "so\xff"},
	} {
		if _, err := command.Ready(); !errors.As(err, new(*commands.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Commands with one id differ by their effect, not by their author or time.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	one := commands.Command{ID: "a", Kind: commands.Trigger, Job: "j", By: "ann", At: time.Unix(1, 0)}
	same, other := one, one
	same.ID, same.By, same.At, same.Result = "b", "bob", time.Unix(2, 0), "done"
	other.Params = json.RawMessage(`{"x":1}`)
	if one.Fingerprint() != same.Fingerprint() || one.Fingerprint() == other.Fingerprint() {
		t.Errorf("%s, %s, %s", one.Fingerprint(), same.Fingerprint(), other.Fingerprint())
	}
}
