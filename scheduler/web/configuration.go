package web

import (
	"context"

	"github.com/quorate/quorate/scheduler/listing"
)

// A configuration is that of the replica that answers.
type configuration struct {
	Replica string `json:"replica"`
	// Settings are null if they are not shown.
	Settings any `json:"settings"`
	// Hashes tell by replica which set of jobs it serves.
	Hashes map[string]string `json:"hashes"`
	Drift  bool              `json:"drift" jsonschema:"replicas serve different sets of jobs"`
	// Sets are the same by set.
	Sets []listing.ServedSet `json:"sets" jsonschema:"the sets of jobs that replicas serve, the newest first"`
}

func answerConfiguration(ctx context.Context, c *call) (any, error) {
	rows, err := c.cfg.Control.Replicas(ctx)
	if listing.Whole(err) != nil {
		return nil, err
	}
	answer := configuration{Replica: c.cfg.Replica, Hashes: map[string]string{}, Sets: listing.ServedSets(rows)}
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

// A jobSet is a set of jobs, with the settings of each that are in effect.
type jobSet struct {
	ConfigHash string    `json:"config_hash"`
	Jobs       []jobText `json:"jobs"`
	Text       string    `json:"text" jsonschema:"the same for people, in the form of the configuration"`
}

// A jobText is one job of a set.
type jobText struct {
	Job      string `json:"job"`
	Key      string `json:"key"`
	Hash     string `json:"hash"`
	Settings any    `json:"settings" jsonschema:"those in effect, without secrets"`
}

func answerJobSet(ctx context.Context, c *call) (any, error) {
	hash := c.r.PathValue("hash")
	set, err := c.cfg.Control.JobSet(ctx, hash)
	if err != nil {
		return nil, err
	}
	answer := jobSet{ConfigHash: hash, Jobs: []jobText{}, Text: listing.JobSetText(set)}
	for _, j := range set.Jobs {
		answer.Jobs = append(answer.Jobs, jobText{Job: j.Name, Key: j.Key, Hash: j.Hash, Settings: j.Settings})
	}
	return answer, nil
}

func answerComparison(ctx context.Context, c *call) (any, error) {
	from, to := c.text("from"), c.text("to")
	if from == "" || to == "" {
		return nil, &listing.InvalidError{Msg: "from and to: write the config_hash of two sets of jobs; GET /configuration lists those that are served"}
	}
	return c.cfg.Control.CompareSets(ctx, from, to)
}
