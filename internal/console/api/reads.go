package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// pageOf returns rows as a page.
func pageOf[R any](rows []R, err error) (view.Page[R], error) {
	if rows == nil {
		rows = []R{}
	}
	return view.Page[R]{Items: rows}, err
}

// rowsOf answers with all rows of a listing.
func rowsOf[R any](read func(view.Control, context.Context) ([]R, error)) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) { return pageOf(read(c.cfg.Control, ctx)) }
}

// entriesOf answers with ticks or runs, of the job in the path or of all jobs.
func entriesOf[R any](ticks bool, read func(view.Control, context.Context, view.EntryQuery) (view.Page[R], error)) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		after, err := view.ParseCursor(c.text("cursor"))
		if err != nil {
			return nil, err
		}
		q := view.EntryQuery{
			Job: c.r.PathValue("job"), Limit: c.number("limit"), After: after, Since: c.time("since"), Before: c.time("until"),
			Outcomes: valuesOf[ledger.Outcome](c, "outcome"), Triggers: valuesOf[ledger.Trigger](c, "trigger"),
			Reasons: valuesOf[ledger.Code](c, "reason"),
		}
		if !ticks && slices.Contains(q.Outcomes, ledger.Missed) {
			return nil, &view.InvalidError{Msg: "outcome: a missed tick has no run; GET /ticks?outcome=missed lists them"}
		}
		return read(c.cfg.Control, ctx, q)
	}
}

func answerNext(ctx context.Context, c *call) (any, error) {
	from := c.time("from")
	if from.IsZero() {
		from = time.Now()
	}
	return pageOf(c.cfg.Control.Next(ctx, c.text("job"), from, c.number("limit")))
}

func answerAudit(ctx context.Context, c *call) (any, error) {
	q := view.AuditQuery{
		Limit: c.number("limit"), After: c.text("cursor"), Since: c.time("since"), By: c.text("by"), Job: c.text("job"),
		Kinds: valuesOf[commands.Kind](c, "act"),
	}
	if text := c.text("refused"); text != "" {
		q.Refused = new(text == "yes")
	}
	return c.cfg.Control.Audit(ctx, q)
}

// An identityRow is the user of a request.
type identityRow struct {
	Name    *string        `json:"name" jsonschema:"Name of the user; null: none."`
	Role    *identity.Role `json:"role"`
	Address string         `json:"address" jsonschema:"Address that the request came from."`
	Replica string         `json:"replica" jsonschema:"Replica that serves the request."`
	Version string         `json:"version" jsonschema:"Its release of Quorate."`
}

func answerWhoami(_ context.Context, c *call) (any, error) {
	return identityRow{
		Name: view.Optional(c.id.Name), Role: view.Optional(c.id.Role), Address: c.id.Address,
		Replica: c.cfg.ID, Version: c.cfg.Version,
	}, nil
}

func answerJobs(ctx context.Context, c *call) (any, error) {
	return c.cfg.Control.Jobs(ctx, view.JobQuery{Limit: c.number("limit"), After: c.text("cursor"), Text: c.text("q")})
}

// A Configuration is the serving replica's configuration.
type Configuration struct {
	Replica  string            `json:"replica" jsonschema:"Replica that serves the request."`
	Settings any               `json:"settings" jsonschema:"Its settings without secrets; null if the service does not publish them."`
	Sources  map[string]string `json:"sources" jsonschema:"Source of each setting that differs from its default, by path: a line of the file, an environment variable, a flag or the program. Jobs and unknown sources are left out."`
	Hashes   map[string]string `json:"hashes" jsonschema:"Hash of the set of jobs of each replica."`
	Drift    bool              `json:"drift" jsonschema:"Replicas serve different sets of jobs."`
	Sets     []view.ServedSet  `json:"sets" jsonschema:"The sets of jobs that replicas serve, newest first."`
}

func answerConfiguration(ctx context.Context, c *call) (any, error) {
	rows, err := c.cfg.Control.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	rows = view.Present(rows)
	answer := Configuration{Replica: c.cfg.ID, Sources: map[string]string{}, Hashes: map[string]string{}, Sets: view.ServedSets(rows)}
	answer.Drift = len(answer.Sets) > 1
	if c.cfg.Settings != nil {
		settings, source := c.cfg.Settings()
		answer.Settings, answer.Sources = settings, view.Sources(settings, c.cfg.Usual, source)
	}
	for _, r := range rows {
		if r.ConfigHash != nil {
			answer.Hashes[r.ID] = *r.ConfigHash
		}
	}
	return answer, nil
}

// A JobSet is a set of jobs with their effective settings.
type JobSet struct {
	ConfigHash string    `json:"config_hash" jsonschema:"Hash of the set."`
	Jobs       []jobText `json:"jobs"`
	Text       string    `json:"text" jsonschema:"The same as YAML, like the configuration."`
}

// A jobText is one job of a set.
type jobText struct {
	Job      string `json:"job" jsonschema:"Name of the job."`
	Key      string `json:"key" jsonschema:"First name of the job, by which the store knows it."`
	Hash     string `json:"hash" jsonschema:"Version of the job."`
	Settings any    `json:"settings" jsonschema:"Effective settings, without secrets."`
}

func answerJobSet(ctx context.Context, c *call) (any, error) {
	hash := c.r.PathValue("hash")
	set, err := c.cfg.Control.JobSet(ctx, hash)
	if err != nil {
		return nil, err
	}
	answer := JobSet{ConfigHash: hash, Jobs: []jobText{}}
	for _, j := range set.Jobs {
		answer.Jobs = append(answer.Jobs, jobText{Job: j.Name, Key: j.Key, Hash: j.Hash, Settings: j.Settings})
	}
	answer.Text, err = yamlText(set)
	return answer, err
}

// yamlText writes a set of jobs like the configuration, each with its version; "" if it is empty.
func yamlText(set roster.JobSet) (string, error) {
	if len(set.Jobs) == 0 {
		return "", nil
	}
	all := make(map[string]any, len(set.Jobs))
	for _, j := range set.Jobs {
		settings, ok := yamlValue(j.Settings).(map[string]any)
		if !ok {
			settings = map[string]any{}
		}
		settings["version"] = j.Hash
		all[j.Name] = settings
	}
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(all)
	return b.String(), err
}

// yamlValue returns a copy of v with numbers that YAML does not quote.
func yamlValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			all[key] = yamlValue(value)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			all[i] = yamlValue(value)
		}
		return all
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	}
	return v
}

func answerComparison(ctx context.Context, c *call) (any, error) {
	from, to := c.text("from"), c.text("to")
	if from == "" || to == "" {
		return nil, &view.InvalidError{Msg: "from and to: write the config_hash of two sets of jobs; GET /configuration lists the served ones"}
	}
	return c.cfg.Control.CompareSets(ctx, from, to)
}
