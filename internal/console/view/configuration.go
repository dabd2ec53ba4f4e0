package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler/roster"
)

// A ServedSet is a set of jobs that at least one replica serves.
type ServedSet struct {
	ConfigHash string   `json:"config_hash" jsonschema:"Hash of the set of jobs."`
	Replicas   []string `json:"replicas" jsonschema:"Replicas that serve it."`
	Since      *string  `json:"since" jsonschema:"When the first replica began to serve it; null from older releases."`
	Jobs       *int     `json:"jobs" jsonschema:"Number of its jobs; null from older releases."`
}

// ServedSets lists the sets that the replicas serve, newest first.
func ServedSets(replicas []Replica) []ServedSet {
	sets := []ServedSet{}
	for _, r := range replicas {
		if r.ConfigHash == nil {
			continue
		}
		i := slices.IndexFunc(sets, func(s ServedSet) bool { return s.ConfigHash == *r.ConfigHash })
		if i < 0 {
			sets, i = append(sets, ServedSet{ConfigHash: *r.ConfigHash}), len(sets)
		}
		s := &sets[i]
		s.Replicas, s.Jobs = append(s.Replicas, r.ID), cmp.Or(s.Jobs, r.Jobs)
		if s.Since == nil || r.ConfigSince != nil && Time(r.ConfigSince).Before(Time(s.Since)) {
			s.Since = r.ConfigSince
		}
	}
	slices.SortStableFunc(sets, func(x, y ServedSet) int {
		return cmp.Or(Time(y.Since).Compare(Time(x.Since)), strings.Compare(x.ConfigHash, y.ConfigHash))
	})
	return sets
}

// JobSet returns the jobs of a set. If they are not known, the error is ErrNotFound and
// says why.
func (r Reader) JobSet(ctx context.Context, hash string) (roster.JobSet, error) {
	set, err := r.storedSet(ctx, hash)
	if errors.Is(err, roster.ErrNoJobSet) {
		return roster.JobSet{}, fmt.Errorf("the set of jobs %q was %w: it is not published yet, or no replica has served it for a day", hash, ErrNotFound)
	}
	if err == nil && len(set.Jobs) < set.Count {
		err = fmt.Errorf("the set of jobs %q was %w: its %d jobs take more than the 1 MiB that are kept", hash, ErrNotFound, set.Count)
	}
	return set, err
}

// storedSet returns a set as it is stored, without jobs if they are too many.
func (r Reader) storedSet(ctx context.Context, hash string) (roster.JobSet, error) {
	if r.Records.JobSets == nil {
		return roster.JobSet{}, roster.ErrNoJobSet
	}
	packed, err := r.Records.JobSets.JobSet(ctx, hash)
	if err != nil {
		return roster.JobSet{}, err
	}
	return roster.UnpackJobs(packed)
}

// CompareSets reads two sets of jobs and compares them.
func (r Reader) CompareSets(ctx context.Context, from, to string) (Comparison, error) {
	a, err := r.JobSet(ctx, from)
	if err != nil {
		return Comparison{}, err
	}
	b, err := r.JobSet(ctx, to)
	return Compare(from, to, a, b), err
}

// A Comparison lists the differences between two sets of jobs.
type Comparison struct {
	From    string      `json:"from" jsonschema:"config_hash of the old set."`
	To      string      `json:"to" jsonschema:"config_hash of the new set."`
	Changes []JobChange `json:"changes"`
}

// A JobChange is a job that was added, removed or changed.
type JobChange struct {
	Job      string          `json:"job"`
	Was      *string         `json:"was" jsonschema:"Its former name, if it was renamed."`
	Change   string          `json:"change" jsonschema:"added, removed or changed."`
	FromHash *string         `json:"from_hash" jsonschema:"Version of the job in the old set."`
	ToHash   *string         `json:"to_hash" jsonschema:"Version of the job in the new set."`
	Settings []SettingChange `json:"settings" jsonschema:"Settings that differ: all of an added or removed job. If a changed job has none, a hidden secret may differ."`
}

// A SettingChange is a changed setting, such as params.customer; null: not set.
type SettingChange struct {
	Key  string  `json:"key" jsonschema:"Path of the setting, such as params.customer."`
	From *string `json:"from" jsonschema:"Value in the old set; null: not set."`
	To   *string `json:"to" jsonschema:"Value in the new set; null: not set."`
}

// Values of JobChange.Change.
const (
	jobAdded   = "added"
	jobRemoved = "removed"
	jobChanged = "changed"
)

// Compare lists what changes from a to b. It matches jobs by their keys.
func Compare(from, to string, a, b roster.JobSet) Comparison {
	before, after := byKey(a), byKey(b)
	c := Comparison{From: from, To: to, Changes: []JobChange{}}
	for _, key := range keysOf(before, after) {
		x, y := before[key], after[key] // zero: the set has no such job
		if x.Hash == y.Hash && x.Name == y.Name {
			continue
		}
		change := JobChange{
			Job: cmp.Or(y.Name, x.Name), Change: jobChanged, FromHash: Optional(x.Hash), ToHash: Optional(y.Hash),
			Settings: SettingChanges(x.Settings, y.Settings),
		}
		switch {
		case x.Name == "":
			change.Change = jobAdded
		case y.Name == "":
			change.Change = jobRemoved
		case x.Name != y.Name:
			change.Was = &x.Name
		}
		c.Changes = append(c.Changes, change)
	}
	return c
}

func byKey(set roster.JobSet) map[string]roster.JobText {
	of := make(map[string]roster.JobText, len(set.Jobs))
	for _, j := range set.Jobs {
		of[j.Key] = j
	}
	return of
}

// SettingChanges lists the settings that differ, sorted by key. A missing job has none.
func SettingChanges(from, to any) []SettingChange {
	before, after := settingTexts(from), settingTexts(to)
	list := []SettingChange{}
	for _, key := range keysOf(before, after) {
		if x, y := before[key], after[key]; x == nil || y == nil || *x != *y {
			list = append(list, SettingChange{Key: key, From: x, To: y})
		}
	}
	return list
}

// Sources returns, by key as in SettingChanges, where the settings come from that differ from the
// usual ones. It leaves out jobs, and settings whose source is not known.
func Sources(settings, usual any, source func(path ...string) string) map[string]string {
	known, defaults := map[string]string{}, settingTexts(usual)
	eachSetting(settings, nil, func(path []string, v any) {
		if path[0] == "jobs" {
			return
		}
		key := settingKey(path)
		if text := defaults[key]; text != nil && *text == valueText(v) {
			return
		}
		if from := source(path...); from != "" {
			known[key] = from
		}
	})
	return known
}

// keysOf returns the keys of both maps, sorted.
func keysOf[V any](x, y map[string]V) []string {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return slices.Sorted(maps.Keys(all))
}

// settingTexts maps the key of every setting to its value.
func settingTexts(settings any) map[string]*string {
	texts := map[string]*string{}
	eachSetting(settings, nil, func(path []string, v any) { texts[settingKey(path)] = new(valueText(v)) })
	return texts
}

// eachSetting calls visit with every value below path that is not an object.
func eachSetting(v any, path []string, visit func(path []string, v any)) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		if len(path) > 0 {
			visit(path, v)
		}
		return
	}
	for key, v := range m {
		eachSetting(v, append(slices.Clip(path), key), visit)
	}
}

// settingKey writes a path with dots. It quotes steps that contain dots.
func settingKey(path []string) string {
	steps := make([]string, len(path))
	for i, step := range path {
		if steps[i] = quoted(step); strings.Contains(steps[i], ".") && steps[i][0] != '"' {
			steps[i] = `"` + step + `"`
		}
	}
	return strings.Join(steps, ".")
}

// valueText writes a value on one line.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// bare matches texts that need no quotes, except numbers, true, false and null.
var bare = regexp.MustCompile(`^[\w@/.:*=+$-]+( [\w@/.:*=+$-]+)*$`)

// quoted quotes a text if it could be read as another value.
func quoted(text string) string {
	if bare.MatchString(text) && !json.Valid([]byte(text)) {
		return text
	}
	return strconv.Quote(text)
}
