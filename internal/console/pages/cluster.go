package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/scheduler/roster"
)

// A replicaRow is a replica with its problems.
type replicaRow struct {
	view.Replica
	Silent  bool
	Differs bool   // serves another set of jobs than most
	Restart string // what it would cost; "": the replica is gone, or what it does is not known
}

// replicasPage shows the replicas, and which of them should not be beside each other.
type replicasPage struct {
	Lines    []line
	Replicas []replicaRow
	Left     []view.Replica
	NoLeft   string // why they are not known
	More     bool   // others may have left before those
}

func loadReplicas(ctx context.Context, v *visit) (any, error) {
	p, err := rows[view.Replica](ctx, v, "/replicas", nil)
	if err != nil {
		return nil, err
	}
	left, err := rows[view.Replica](ctx, v, "/replicas/left", nil)
	shown := replicasPage{Left: left.Items, More: len(left.Items) >= roster.MostLeft}
	if err != nil {
		shown.NoLeft = v.why(err)
	}
	for _, text := range view.Neighbours(p.Items) {
		shown.Lines = append(shown.Lines, warning(text))
	}
	most := mostServed(view.Present(p.Items))
	for _, r := range p.Items {
		row := replicaRow{Replica: r, Silent: r.State != roster.StateLost && r.Silence(v.asOf()) > 0}
		row.Differs = most != "" && r.State != roster.StateLost && view.Text(r.ConfigHash) != most
		if v.Stale.IsZero() && r.State != roster.StateLost && !row.Silent {
			row.Restart = restartOf(r, takers(p.Items, v.asOf()), v.asOf())
		}
		shown.Replicas = append(shown.Replicas, row)
	}
	return shown, nil
}

// takers counts the replicas that take ticks.
func takers(replicas []view.Replica, now time.Time) (n int) {
	for _, r := range replicas {
		if r.TakesTicks(now) {
			n++
		}
	}
	return n
}

// restartOf says whether a replica may be restarted, and what becomes of its runs. takers counts those that take ticks.
func restartOf(r view.Replica, takers int, now time.Time) string {
	answer := "yes"
	switch takes := r.TakesTicks(now); {
	case takes && takers == 1:
		answer = "no other takes ticks meanwhile"
	case takes && r.Alone == nil:
		answer = "yes, if others may run its jobs: a set of jobs is not known"
	case len(r.Alone) > 0:
		answer = "no other runs " + view.And(r.Alone) + " meanwhile"
	}
	if len(r.Running) > 0 {
		answer += "; its runs (" + view.And(r.Running) + ") have drain_timeout to end"
	}
	return answer
}

// mostServed is the hash of the most served set of jobs, "" if there is only one.
func mostServed(replicas []view.Replica) string {
	counts := map[string]int{}
	for _, r := range replicas {
		if r.ConfigHash != nil {
			counts[*r.ConfigHash]++
		}
	}
	if len(counts) < 2 {
		return ""
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(x, y string) int { return counts[x] - counts[y] })
}

// nodesPage shows the nodes.
type nodesPage struct {
	Lines  []line
	Nodes  []nodeRow
	Since  *stamp       // of what this replica saw in the last hour; nil: no samples yet
	Checks []view.Check // nil: not requested
}

func loadNodes(ctx context.Context, v *visit) (any, error) {
	nodes, err := v.p.cfg.Control.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	shown := nodesPage{Lines: []line{nodesLine(v, nodes)}}
	var minutes []health.Minute
	if v.p.cfg.Control.LastHour != nil {
		minutes = v.p.cfg.Control.LastHour(v.Now)
	}
	if len(minutes) > 0 {
		shown.Since = v.At(minutes[0].At)
	}
	for _, n := range nodes {
		shown.Nodes = append(shown.Nodes, newNodeRow(n, newGrid(timeRange{"1h", time.Hour, time.Minute}, v.Now), minutes, v.times))
	}
	if v.query.Get("check") != "" {
		checked, err := v.p.cfg.Control.Check(ctx)
		if err != nil {
			return nil, err
		}
		shown.Checks = checked.Rows
	}
	return shown, nil
}

// locksPage shows held locks, the latest tokens and refused writes.
type locksPage struct {
	Locks  []view.Lock
	Tokens []view.Tick // the latest of each job
	Stale  []view.Tick
}

// tokensLookedAt is how many of the latest runs are read for tokens.
const tokensLookedAt = 300

func loadLocks(ctx context.Context, v *visit) (any, error) {
	p, err := rows[view.Lock](ctx, v, "/locks", nil)
	if err != nil {
		return nil, err
	}
	recent, err := lastKnown(v, "tokens", func() (view.EntryPage, error) {
		return v.p.cfg.Control.Recent(ctx, view.EntryQuery{Limit: tokensLookedAt})
	})
	if err != nil {
		return nil, err
	}
	shown := locksPage{Locks: p.Items}
	for _, e := range recent.Entries { // newest first
		shown.Tokens = append(shown.Tokens, view.NewTick(e))
		if e.StaleWrites > 0 {
			shown.Stale = append(shown.Stale, view.NewTick(e))
		}
	}
	slices.SortStableFunc(shown.Tokens, func(x, y view.Tick) int { return strings.Compare(x.Job, y.Job) })
	shown.Tokens = slices.CompactFunc(shown.Tokens, func(x, y view.Tick) bool { return x.Job == y.Job })
	return shown, nil
}

// loadAudit lists the commands of the audit log.
func loadAudit(ctx context.Context, v *visit) (any, error) {
	return rows[view.Command](ctx, v, "/audit", v.only("since", "by", "job", "act", "refused", "limit", "cursor"))
}

// configurationPage shows this replica's configuration, the served sets of jobs, and their
// differences.
type configurationPage struct {
	api.Configuration
	Set  []settingsSection // what differs from the default
	Rest []settingsSection
	Text string           // the settings as JSON, if they were asked for
	Jobs []roster.Version // jobs that are served in several versions

	Diff  *setsDiff
	Shown *setShown
}

// A settingsSection has the settings of a section of the configuration.
type settingsSection struct {
	Name     string
	Settings []view.SettingChange // from the default
}

// sections are the settings by section, without jobs: those that differ from the default, and the rest.
func sections(settings, usual any) (set, rest []settingsSection) {
	all, _ := settings.(map[string]any)
	all = maps.Clone(all)
	delete(all, "jobs")
	changed := map[string]*string{}
	for _, c := range view.SettingChanges(usual, all) {
		changed[c.Key] = c.From
	}
	for _, c := range view.SettingChanges(nil, all) {
		to := &rest
		if from, differs := changed[c.Key]; differs {
			c.From, to = from, &set
		}
		if c.From == nil && *c.To == `""` { // an entry of a map without this setting
			continue
		}
		name, _, _ := strings.Cut(c.Key, ".")
		if n := len(*to); n == 0 || (*to)[n-1].Name != name {
			*to = append(*to, settingsSection{Name: name})
		}
		s := &(*to)[len(*to)-1]
		s.Settings = append(s.Settings, c)
	}
	return set, rest
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
	shown := configurationPage{Configuration: c}
	shown.Set, shown.Rest = sections(c.Settings, v.p.cfg.Usual)
	if _, known := c.Settings.(map[string]any); c.Settings != nil && (!known || v.Value("raw") != "") {
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
	d, err := lastKnown(v, "directory", func() (view.Directory, error) { return v.p.cfg.Control.Directory(ctx) })
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
func (p configurationPage) Servers(v roster.Version) string {
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
