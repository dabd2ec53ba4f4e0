package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
)

// configurationPage shows this replica's configuration, the served sets of jobs, and their
// differences.
type configurationPage struct {
	Replica, Text string
	Drift         bool
	Sets          []setRow
	Jobs          []scheduler.Version // jobs that are served in several versions

	Diff  *setsDiff
	Shown *setShown
}

// A setRow is a served set of jobs.
type setRow struct {
	view.ServedSet
	Here bool // served by this replica
}

// A setsDiff compares two sets of jobs.
type setsDiff struct {
	view.Comparison
	More int    // changed jobs that are not listed
	Why  string // the sets cannot be compared, or ""
}

// A setShown is one set of jobs.
type setShown struct{ Hash, Text, Why string }

// changesShown bounds the changed jobs that are listed.
const changesShown = 50

func loadConfiguration(ctx context.Context, v *visit) (any, error) {
	c, err := read[api.Configuration](ctx, v, "/configuration", nil)
	if err != nil {
		return nil, err
	}
	shown := configurationPage{Replica: v.Replica, Drift: c.Drift}
	for _, set := range c.Sets {
		shown.Sets = append(shown.Sets, setRow{set, slices.Contains(set.Replicas, v.Replica)})
	}
	if c.Settings != nil {
		text, err := json.MarshalIndent(c.Settings, "", "  ")
		if err != nil {
			return nil, err
		}
		shown.Text = string(text)
	}
	if shown.Diff, err = loadDiff(ctx, v, c.Sets); err != nil {
		return nil, err
	}
	if shown.Shown, err = loadSet(ctx, v, v.query.Get("set")); err != nil {
		return nil, err
	}
	d, err := lastKnown(v, "directory", func() (view.Directory, error) { return v.Control.Directory(ctx) })
	for _, version := range d.Versions {
		if version.Drift {
			shown.Jobs = append(shown.Jobs, version)
		}
	}
	return shown, err
}

// loadDiff compares the sets in the query. By default it compares the two newest served sets.
func loadDiff(ctx context.Context, v *visit, sets []view.ServedSet) (*setsDiff, error) {
	from, to := v.query.Get("from"), v.query.Get("to")
	if len(sets) > 1 {
		to = cmp.Or(to, sets[0].ConfigHash)
		from = cmp.Or(from, sets[1].ConfigHash)
	}
	if from == "" || to == "" {
		return nil, nil
	}
	diff, err := read[view.Comparison](ctx, v, "/configuration/diff", url.Values{"from": {from}, "to": {to}})
	shown := &setsDiff{Comparison: diff}
	if errors.Is(err, view.ErrNotFound) {
		shown.From, shown.To, shown.Why = from, to, err.Error()
		return shown, nil
	}
	if n := len(diff.Changes); n > changesShown {
		shown.Changes, shown.More = diff.Changes[:changesShown], n-changesShown
	}
	return shown, err
}

// loadSet reads a set of jobs; nil for "".
func loadSet(ctx context.Context, v *visit, hash string) (*setShown, error) {
	if hash == "" {
		return nil, nil
	}
	set, err := read[api.JobSet](ctx, v, "/configuration/sets/{hash}", nil, "hash", hash)
	shown := &setShown{Hash: hash, Text: set.Text}
	if errors.Is(err, view.ErrNotFound) {
		shown.Why, err = err.Error(), nil
	}
	return shown, err
}

// Servers lists the replicas that serve the version.
func (p configurationPage) Servers(v scheduler.Version) string {
	for _, set := range p.Sets {
		if set.ConfigHash == v.ConfigHash {
			return view.And(set.Replicas)
		}
	}
	return v.Replica
}

// A setChoice is an option of the comparison.
type setChoice struct {
	Hash, Label string
	Chosen      bool
}

// Choose lists the served sets, and the chosen one, which may no longer be served.
func (p configurationPage) Choose(hash string) []setChoice {
	var list []setChoice
	for _, set := range p.Sets {
		list = append(list, setChoice{set.ConfigHash, set.ConfigHash + ", on " + view.And(set.Replicas), set.ConfigHash == hash})
	}
	if !slices.ContainsFunc(list, func(c setChoice) bool { return c.Chosen }) {
		list = append(list, setChoice{hash, hash + ", not served", true})
	}
	return list
}
