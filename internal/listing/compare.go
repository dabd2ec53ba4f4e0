package listing

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A Comparison lists the differences between two sets of jobs.
type Comparison struct {
	From    string      `json:"from"` // config_hash
	To      string      `json:"to"`
	Changes []JobChange `json:"changes"`
	// Diff is a unified diff of both sets as JobSetText writes them. Cut counts the
	// changed lines that are left out at its end because there are too many.
	Diff string `json:"diff"`
	Cut  int    `json:"cut"`

	Hunks []Hunk `json:"-"` // of Diff
}

// A JobChange is a job that was added, removed or changed.
type JobChange struct {
	Job      string  `json:"job"`
	Was      *string `json:"was"` // its former name, if it was renamed
	Change   string  `json:"change" jsonschema:"added, removed or changed"`
	FromHash *string `json:"from_hash"`
	ToHash   *string `json:"to_hash"`
	// Settings that differ. If a changed job has none, a hidden secret may differ.
	Settings []SettingChange `json:"settings"`
}

// A SettingChange is a changed setting, such as params.customer; null: not set.
type SettingChange struct {
	Key  string  `json:"key"`
	From *string `json:"from"`
	To   *string `json:"to"`
}

// Values of JobChange.Change.
const (
	jobAdded   = "added"
	jobRemoved = "removed"
	jobChanged = "changed"
)

// Compare lists what changes from a to b. It matches jobs by their keys.
func Compare(from, to string, a, b scheduler.JobSet) Comparison {
	before, after := byKey(a), byKey(b)
	c := Comparison{From: from, To: to, Changes: []JobChange{}}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var lines []textLine
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, had := before[key]
		y, has := after[key]
		lines = append(lines, linesOf(x, y, had, has)...)
		if change, ok := changeOf(x, y, had, has); ok {
			c.Changes = append(c.Changes, change)
		}
	}
	c.Hunks, c.Cut = hunks(lines)
	if len(c.Hunks) > 0 {
		c.Diff = unified(from, to, c.Hunks)
	}
	return c
}

func byKey(set scheduler.JobSet) map[string]scheduler.JobText {
	of := make(map[string]scheduler.JobText, len(set.Jobs))
	for _, j := range set.Jobs {
		of[j.Key] = j
	}
	return of
}

func changeOf(x, y scheduler.JobText, had, has bool) (JobChange, bool) {
	switch {
	case !had:
		return JobChange{Job: y.Name, Change: jobAdded, ToHash: &y.Hash, Settings: []SettingChange{}}, true
	case !has:
		return JobChange{Job: x.Name, Change: jobRemoved, FromHash: &x.Hash, Settings: []SettingChange{}}, true
	case x.Hash == y.Hash && x.Name == y.Name:
		return JobChange{}, false
	}
	c := JobChange{Job: y.Name, Change: jobChanged, FromHash: &x.Hash, ToHash: &y.Hash, Settings: settingChanges(x.Settings, y.Settings)}
	if x.Name != y.Name {
		c.Was = &x.Name
	}
	return c, true
}

// settingChanges lists the settings that differ, sorted by key.
func settingChanges(from, to any) []SettingChange {
	before, after := map[string]string{}, map[string]string{}
	flatten(before, "", from)
	flatten(after, "", to)
	all := maps.Clone(before)
	maps.Copy(all, after)
	list := []SettingChange{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, had := before[key]
		y, has := after[key]
		if had == has && x == y {
			continue
		}
		change := SettingChange{Key: key}
		if had {
			change.From = &x
		}
		if has {
			change.To = &y
		}
		list = append(list, change)
	}
	return list
}

// flatten maps the path of every value that is not an object to its text.
func flatten(into map[string]string, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 && path != "" {
		into[path] = oneLine(v)
		return
	}
	for key, v := range m {
		if key = plain(key); strings.Contains(key, ".") && key[0] != '"' {
			key = `"` + key + `"`
		}
		flatten(into, strings.TrimPrefix(path+"."+key, "."), v)
	}
}

// oneLine writes a value on one line.
func oneLine(v any) string {
	list, ok := v.([]any)
	if !ok {
		return scalar(v)
	}
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = oneLine(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}
