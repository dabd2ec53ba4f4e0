package main

import (
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/dev/bench/rows"
)

// TestEverythingWorks runs every measurement so short that its figures mean
// nothing.
func TestEverythingWorks(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	env := rows.Env{Rig: rig.New(t), Size: rows.Tiny(), Told: t.Logf}
	for _, m := range rows.All() {
		t.Run(m.Key, func(t *testing.T) {
			s, err := m.Run(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Results) == 0 || s.Method == "" {
				t.Errorf("found %d results by method %q", len(s.Results), s.Method)
			}
			for _, r := range s.Results {
				if math.IsNaN(r.Ours) {
					t.Errorf("%s: %v", r.What, r.Ours)
				}
			}
		})
	}
}

// TestBusyCore measures the shortest of all beside a busy core, too.
func TestBusyCore(t *testing.T) {
	env := rows.Env{Rig: rig.New(t), Size: rows.Tiny(), Told: t.Logf}
	env.Size.Slow = true
	s, err := rows.All()[0].Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range s.Results {
		if busy := strings.HasSuffix(r.What, ", beside a busy core"); busy != (i%2 == 1) {
			t.Errorf("result %d is %q", i, r.What)
		}
	}
}

// TestProfiles takes profiles that are too short to hold anything.
func TestProfiles(t *testing.T) {
	env := rows.Env{Rig: rig.New(t), Size: rows.Tiny(), Told: t.Logf}
	list, err := rows.Profiles(t.Context(), env, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Title == "" || !(p.Cost > 0) {
			t.Errorf("profile %q costs %v", p.Title, p.Cost)
		}
	}
}
