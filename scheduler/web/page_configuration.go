package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// configurationPage shows what is in effect here, who serves which set of jobs, and
// how two of them differ.
type configurationPage struct {
	Replica, Text string
	Drift         bool
	Sets          []setRow
	Jobs          []scheduler.Version // served in several versions
	Drifts        []driftLine         // the same in words

	Diff  *setsDiff
	Shown *setShown
}

// A setRow is a set of jobs that is served.
type setRow struct {
	listing.ServedSet
	Here bool // by the replica that answers, too
}

// A setsDiff is how a set of jobs becomes another.
type setsDiff struct {
	listing.Comparison
	More int    // jobs that are other and not listed
	Why  string // it is not known, "" if it is
}

// A setShown is what a set of jobs consists of.
type setShown struct{ Hash, Text, Why string }

// changesShown is how many jobs that are other the page lists before their diff.
const changesShown = 50

func loadConfiguration(ctx context.Context, v *visit) (any, error) {
	c, err := api[configuration](ctx, v, "/configuration", nil)
	if err != nil {
		return nil, err
	}
	shown := configurationPage{Replica: v.cfg.Replica, Drift: c.Drift}
	for _, set := range c.Sets {
		shown.Sets = append(shown.Sets, setRow{set, slices.Contains(set.Replicas, v.cfg.Replica)})
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
	return shown, shown.loadDrifts(ctx, v)
}

// loadDiff compares the sets that the page's query names or, while several are served,
// the newest with the one before.
func loadDiff(ctx context.Context, v *visit, sets []listing.ServedSet) (*setsDiff, error) {
	from, to := v.query.Get("from"), v.query.Get("to")
	if len(sets) > 1 {
		to = cmp.Or(to, sets[0].ConfigHash)
		from = cmp.Or(from, sets[1].ConfigHash)
	}
	if from == "" || to == "" {
		return nil, nil
	}
	diff, err := api[listing.Comparison](ctx, v, "/configuration/diff", url.Values{"from": {from}, "to": {to}})
	shown := &setsDiff{Comparison: diff}
	if errors.Is(err, listing.ErrNotFound) {
		shown.From, shown.To, shown.Why = from, to, err.Error()
		return shown, nil
	}
	if n := len(diff.Changes); n > changesShown {
		shown.Changes, shown.More = diff.Changes[:changesShown], n-changesShown
	}
	return shown, err
}

// loadSet reads a set of jobs; nil if none is named.
func loadSet(ctx context.Context, v *visit, hash string) (*setShown, error) {
	if hash == "" {
		return nil, nil
	}
	set, err := api[jobSet](ctx, v, "/configuration/sets/{hash}", nil, "hash", hash)
	shown := &setShown{Hash: hash, Text: set.Text}
	if errors.Is(err, listing.ErrNotFound) {
		shown.Why, err = err.Error(), nil
	}
	return shown, err
}

// loadDrifts says of which jobs several versions are served.
func (p *configurationPage) loadDrifts(ctx context.Context, v *visit) error {
	d, err := lastKnown(v, "directory", func() (listing.Directory, error) { return v.cfg.Control.Directory(ctx) })
	for _, version := range d.Versions {
		if version.Drift {
			p.Jobs = append(p.Jobs, version)
		}
	}
	if len(p.Jobs) == 0 {
		return err
	}
	live, missing := rows[listing.Replica](ctx, v, "/replicas", nil)
	if missing != nil {
		return missing
	}
	p.Drifts = driftLines(p.Jobs, live.Items)
	return err
}

// A setChoice is a set of jobs that can be compared.
type setChoice struct {
	Hash, Label string
	Chosen      bool
}

// Choose lists the sets that can be compared, and the chosen one, which nobody may
// serve any more.
func (p configurationPage) Choose(hash string) []setChoice {
	var list []setChoice
	for _, set := range p.Sets {
		list = append(list, setChoice{set.ConfigHash, set.ConfigHash + ", on " + listing.And(set.Replicas), set.ConfigHash == hash})
	}
	if !slices.ContainsFunc(list, func(c setChoice) bool { return c.Chosen }) {
		list = append(list, setChoice{hash, hash + ", served by nobody", true})
	}
	return list
}
