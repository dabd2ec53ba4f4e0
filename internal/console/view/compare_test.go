package view_test

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != string(got) {
		t.Errorf("%s is not as it was (%v):\n%s", path, err, got)
	}
}

// setOf makes a set of jobs from the text of their settings.
func setOf(t *testing.T, jobs ...[4]string) roster.JobSet {
	t.Helper()
	set := roster.JobSet{Count: len(jobs)}
	for _, j := range jobs {
		one := roster.JobText{Name: j[0], Key: j[1], Hash: j[2]}
		if err := json.Unmarshal([]byte(j[3]), &one.Settings); err != nil {
			t.Fatal(err)
		}
		set.Jobs = append(set.Jobs, one)
	}
	return set
}

// Every kind of change of a job is listed with the settings that differ.
func TestCompare(t *testing.T) {
	t.Parallel()
	from := setOf(t,
		[4]string{"backup", "backup", "b1", `{"func": "exec", "schedule": "0 2 * * *", "params": {"command": ["sh", "-c", "set -e\ndump\nsend\n"]}}`},
		[4]string{"export", "export", "e1", `{"func": "http", "schedule": "@daily", "params": {"token": "***"}}`},
		[4]string{"gone", "gone", "g1", `{"func": "report", "schedule": "@hourly"}`},
		[4]string{"idle", "idle", "i1", `{"func": "report", "schedule": "@hourly", "timeout": "1h"}`},
		[4]string{"invoice", "invoice", "v1", `{"func": "report", "schedule": "@every 10m", "params": {"customer": "all", "copies": 1, "dry": false, "a.b": 1}, "retry": {"attempts": 1}}`},
		[4]string{"old-name", "old-name", "o1", `{"func": "report", "schedule": "@hourly"}`},
	)
	to := setOf(t,
		[4]string{"backup", "backup", "b2", `{"func": "exec", "schedule": "0 2 * * *", "params": {"command": ["sh", "-c", "set -e\ndump --all\nsend\n"]}}`},
		[4]string{"export", "export", "e2", `{"func": "http", "schedule": "@daily", "params": {"token": "***"}}`},
		[4]string{"idle", "idle", "i1", `{"func": "report", "schedule": "@hourly", "timeout": "1h"}`},
		[4]string{"invoice", "invoice", "v2", `{"func": "report", "schedule": "@every 5m", "params": {"customer": "acme: north", "copies": 2, "dry": false, "a.b": 2}, "retry": {"attempts": 3}, "tags": ["x", "true"]}`},
		[4]string{"new-name", "old-name", "o1", `{"func": "report", "schedule": "@hourly"}`},
		[4]string{"fresh", "zz", "z1", `{"func": "report", "schedule": "@at 2027-01-01T00:00:00Z"}`},
	)
	c := view.Compare("c1", "c2", from, to)
	text, err := json.MarshalIndent(c.Changes, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.json", append(text, '\n'))
	if same := view.Compare("c1", "c1", from, from); len(same.Changes) != 0 {
		t.Errorf("a set differs from itself: %+v", same)
	}
}

// No two values have the same text: each difference is visible.
func TestSettingChangesAreVisible(t *testing.T) {
	t.Parallel()
	for _, values := range [][2]string{
		{`1`, `"1"`},
		{`true`, `"true"`},
		{`null`, `"null"`},
		{`"a"`, `"a "`},
		{`"a b"`, `"a  b"`},
		{`"ab"`, `"a\u200bb"`},
		{`"a\nb"`, `"a\\nb"`},
		{`["a", "b"]`, `["a, b"]`},
		{`["a"]`, `"[a]"`},
		{`[]`, `"[]"`},
		{`[]`, `{}`},
		{`""`, `"\"\""`},
		{`1`, `1.0`},
	} {
		var from, to any
		for text, into := range map[string]*any{values[0]: &from, values[1]: &to} {
			dec := json.NewDecoder(strings.NewReader(`{"x": ` + text + `}`))
			dec.UseNumber()
			if err := dec.Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		changes := view.SettingChanges(from, to)
		if len(changes) != 1 || changes[0].From == nil || changes[0].To == nil || *changes[0].From == *changes[0].To {
			t.Errorf("%s and %s: %+v", values[0], values[1], changes)
		}
	}
	if changes := view.SettingChanges(map[string]any{"a.b": "x"}, map[string]any{"a": map[string]any{"b": "x"}}); len(changes) != 2 {
		t.Errorf("a key with a dot is the same as a path: %+v", changes)
	}
}

// Sets are listed with who serves them, the newest first, and what is not known of one
// is said.
func TestServedSets(t *testing.T) {
	t.Parallel()
	peers := new(schedtest.Roster)
	r := view.Reader{Records: store.Records{Roster: peers, JobSets: peers}}
	at, three := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 3
	for _, one := range []roster.Replica{
		{ID: "a", ConfigHash: "c1", ConfigSince: at.Add(time.Hour)},
		{ID: "b", ConfigHash: "c1", ConfigSince: at, Jobs: &three},
		{ID: "c", ConfigHash: "c2", ConfigSince: at.Add(2 * time.Hour)},
		{ID: "d", ConfigHash: "c0"},
		{ID: "e"},
	} {
		if _, err := peers.Beat(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := r.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sets := view.ServedSets(rows)
	if len(sets) != 3 || sets[0].ConfigHash != "c2" || sets[1].ConfigHash != "c1" || sets[2].Since != nil ||
		!slices.Equal(sets[1].Replicas, []string{"a", "b"}) || !view.Time(sets[1].Since).Equal(at) || *sets[1].Jobs != 3 {
		t.Errorf("%+v", sets)
	}
	if _, err := r.CompareSets(t.Context(), "c1", "c2"); !errors.Is(err, view.ErrNotFound) {
		t.Errorf("sets that nobody has kept: %v", err)
	}
	if _, err := (view.Reader{}).JobSet(t.Context(), "c1"); !errors.Is(err, view.ErrNotFound) {
		t.Errorf("nobody keeps sets: %v", err)
	}
	packed, err := roster.PackJobs(7, func(func(roster.JobText) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := peers.KeepSet(t.Context(), "c1", packed); err != nil {
		t.Fatal(err)
	}
	if _, err := r.JobSet(t.Context(), "c1"); !errors.Is(err, view.ErrNotFound) {
		t.Errorf("a set that is too large: %v", err)
	}
}

// Sources has the settings that differ from the usual ones, by the same keys as SettingChanges, but no
// jobs, and none whose source is not known.
func TestSources(t *testing.T) {
	t.Parallel()
	usual := map[string]any{"lock": map[string]any{"ttl": "15s", "max_hold": "0s"}, "labels": map[string]any{}}
	settings := map[string]any{
		"lock":   map[string]any{"ttl": "10s", "max_hold": "0s"},
		"labels": map[string]any{"a.b": "x", "c/d": "y", "1": "z"},
		"log":    map[string]any{"level": "debug"},
		"jobs":   map[string]any{"report": map[string]any{"func": "exec"}},
	}
	got := view.Sources(settings, usual, func(path ...string) string {
		if path[0] == "log" {
			return ""
		}
		return strings.Join(path, "|")
	})
	want := map[string]string{"lock.ttl": "lock|ttl", `labels."a.b"`: "labels|a.b", "labels.c/d": "labels|c/d", `labels."1"`: "labels|1"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	keys := []string{}
	for _, c := range view.SettingChanges(usual, settings) {
		keys = append(keys, c.Key)
	}
	for key := range got {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is no key of %v", key, keys)
		}
	}
}
