package api

import (
	"context"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler"
)

// A Configuration is the serving replica's configuration.
type Configuration struct {
	Replica string `json:"replica"`
	// Settings are null if the service does not publish them.
	Settings any `json:"settings"`
	// Hashes are the served sets of jobs, by replica.
	Hashes map[string]string `json:"hashes"`
	Drift  bool              `json:"drift" jsonschema:"replicas serve different sets of jobs"`
	// Sets are the same, by set.
	Sets []listing.ServedSet `json:"sets" jsonschema:"the sets of jobs that replicas serve, newest first"`
}

func answerConfiguration(ctx context.Context, c *call) (any, error) {
	rows, err := c.cfg.Control.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	answer := Configuration{Replica: c.cfg.Replica, Hashes: map[string]string{}, Sets: listing.ServedSets(rows)}
	answer.Drift = len(answer.Sets) > 1
	if c.cfg.Settings != nil {
		answer.Settings = c.cfg.Settings()
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
	ConfigHash string    `json:"config_hash"`
	Jobs       []jobText `json:"jobs"`
	Text       string    `json:"text" jsonschema:"the same as YAML, like the configuration"`
}

// A jobText is one job of a set.
type jobText struct {
	Job      string `json:"job"`
	Key      string `json:"key"`
	Hash     string `json:"hash"`
	Settings any    `json:"settings" jsonschema:"effective settings, without secrets"`
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
func yamlText(set scheduler.JobSet) (string, error) {
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
		return nil, &listing.InvalidError{Msg: "from and to: write the config_hash of two sets of jobs; GET /configuration lists the served ones"}
	}
	return c.cfg.Control.CompareSets(ctx, from, to)
}
