package presence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/roster"
)

// shelf has sets of jobs.
type shelf map[string]roster.JobSet

func (s shelf) JobSet(_ context.Context, hash string) ([]byte, error) {
	set, ok := s[hash]
	if !ok {
		return nil, roster.ErrNoJobSet
	}
	return roster.PackJobs(set.Count, slices.Values(set.Jobs))
}

func (shelf) RenewSet(context.Context, string) (bool, error) { return true, nil }

func (shelf) KeepSet(context.Context, string, []byte) error { return nil }

// setOf is a set of jobs given as key=hash/code.
func setOf(texts ...string) roster.JobSet {
	set := roster.JobSet{Count: len(texts)}
	for _, text := range texts {
		key, version, _ := strings.Cut(text, "=")
		hash, code, _ := strings.Cut(version, "/")
		set.Jobs = append(set.Jobs, roster.JobText{Name: key, Key: key, Hash: hash, Code: code})
	}
	return set
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	sets := shelf{
		"s2":    setOf("invoices=2/main.run", "theirs=1"),
		"apart": setOf("theirs=1"), "code": setOf("invoices=1/main.other", "own=1"), "large": {Count: 9000},
	}
	own := setOf("invoices=1/main.run", "own=1") // nobody has stored it
	self := roster.Replica{ID: "a", Instance: "1", ConfigHash: "s1", Program: "shop", ConfigSince: start}
	other := func(change func(*roster.Replica)) roster.Replica {
		r := roster.Replica{ID: "b", Instance: "2", ConfigHash: "s1", Program: "shop", ConfigSince: start}
		change(&r)
		return r
	}
	for name, tt := range map[string]struct {
		at   func(beat int) []roster.Replica // besides self, each 5 s for 10 min
		want string
	}{
		"same jobs": {func(int) []roster.Replica { return []roster.Replica{other(func(*roster.Replica) {})} }, ""},
		"other version": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "s2" })}
		}, "stranger b [invoices]"},
		"other function": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "code" })}
		}, "stranger b [invoices]"},
		"other program": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.Program = "billing" })}
		}, "stranger b [invoices own]"},
		"older release": {func(int) []roster.Replica { return []roster.Replica{other(func(r *roster.Replica) { r.Program = "" })} }, ""},
		"no common names": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "apart"; r.Program = "billing" })}
		}, ""},
		"unknown set": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "none" })}
		}, ""},
		"two other versions": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "s2" }), other(func(r *roster.Replica) { r.ID, r.ConfigHash = "c", "code" })}
		}, "stranger b [invoices]; stranger c [invoices]"},
		"two other programs": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.Program = "billing" }), other(func(r *roster.Replica) { r.ID, r.Program = "c", "mail" })}
		}, "stranger b [invoices own]; stranger c [invoices own]"},
		"a set too large to be compared": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash = "large" })}
		}, "stranger b [] " + roster.ErrSetTooLarge.Error()},
		"drains": {func(int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash, r.State = "s2", roster.StateDraining })}
		}, ""},
		"a roll-out": {func(beat int) []roster.Replica { // one more is replaced each minute
			return []roster.Replica{other(func(r *roster.Replica) { r.ConfigHash, r.Instance = "s2", fmt.Sprint(beat/12) })}
		}, ""},
		"its jobs change all the time": {func(beat int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) {
				r.ConfigHash, r.ConfigSince = "s2", start.Add(time.Duration(beat/12)*time.Minute)
			})}
		}, ""},
		"another program whose jobs change all the time": {func(beat int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) {
				r.ConfigHash, r.Program, r.ConfigSince = "s2", "billing", start.Add(time.Duration(beat/12)*time.Minute)
			})}
		}, "stranger b [invoices]"},
		"one id, both live": {func(beat int) []roster.Replica {
			return []roster.Replica{other(func(r *roster.Replica) { r.ID, r.Seen = "a", start.Add(time.Duration(beat)*time.Second) })}
		}, "twin a []"},
		"one id, one is dead": {func(beat int) []roster.Replica {
			if beat > 3 {
				return nil
			}
			return []roster.Replica{other(func(r *roster.Replica) { r.ID, r.Seen = "a", start })}
		}, ""},
	} {
		var told []string
		n := &neighbours{sets: sets, own: func() roster.JobSet { return own }, observer: func(e event.Event) {
			text := fmt.Sprintf("%s %s %v", e.Kind, strings.Fields(e.Other)[0], e.Jobs)
			if e.Err != nil {
				text += " " + e.Err.Error()
			}
			told = append(told, text)
		}}
		for beat := range 120 {
			self.Seen = start.Add(time.Duration(beat) * 5 * time.Second)
			n.see(t.Context(), self, append(tt.at(beat), self), start.Add(time.Duration(beat)*5*time.Second))
		}
		if got := strings.Join(told, "; "); got != tt.want {
			t.Errorf("%s: told %q, want %q", name, got, tt.want)
		}
	}
}
