package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
)

// A replicaRow is one replica as `quorate replicas -o json` shows it.
type replicaRow struct {
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Host       string            `json:"host"`
	PID        int               `json:"pid"`
	Version    string            `json:"version"`
	Started    *string           `json:"started"`
	Seen       *string           `json:"seen"`
	Running    []string          `json:"running"`
	ConfigHash *string           `json:"config_hash"`
	Labels     map[string]string `json:"labels"`
}

func (a App) replicasCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "replicas",
		Short:   "List the replicas that were seen lately",
		Example: "  quorate replicas",
		Args:    usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				replicas, err := cl.ledger.Replicas(c.Context())
				if err != nil {
					return err
				}
				return errors.Join(replicaListing(replicas, time.Now()).print(a.Out, format), cl.lacking.err)
			})
		},
	}
	outputFlag(c, &format)
	return c
}

func replicaListing(replicas []scheduler.Replica, now time.Time) listing[replicaRow] {
	l := listing[replicaRow]{
		columns: []string{"REPLICA", "STATE", "HOST", "UP", "SEEN", "VERSION", "CONFIG", "LABELS", "RUNNING"},
		empty:   "no replica was seen lately",
	}
	seen := map[string]scheduler.Replica{}
	l.cells = func(r replicaRow) []string {
		running := clip(strings.Join(r.Running, " "), 30)
		if running == "" {
			running = "-"
		}
		return []string{
			r.ID, r.State, r.Host + ":" + strconv.Itoa(r.PID), since(seen[r.ID].Started, now),
			fmt.Sprintf("%s ago", since(seen[r.ID].Seen, now)), r.Version, clip(dash(r.ConfigHash), 8), labels(r.Labels), running,
		}
	}
	for _, r := range replicas {
		seen[r.ID] = r
		running := r.Running
		if running == nil {
			running = []string{}
		}
		l.rows = append(l.rows, replicaRow{
			ID: r.ID, State: r.State, Host: r.Host, PID: r.PID, Version: r.Version,
			Started: stamp(r.Started), Seen: stamp(r.Seen), Running: running, ConfigHash: optional(r.ConfigHash), Labels: r.Labels,
		})
	}
	return l
}

// labels writes labels in order, "-" if there are none.
func labels(of map[string]string) string {
	if len(of) == 0 {
		return "-"
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, key+"="+of[key])
	}
	return clip(strings.Join(words, " "), 30)
}

// since is the time from then to now for people, "-" if then is unknown.
func since(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return short(max(now.Sub(then), 0))
}
