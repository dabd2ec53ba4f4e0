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
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) replicasCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "replicas",
		Short:   "List the replicas that were seen lately",
		Example: "  quorate replicas",
		Args:    usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return printRemote(c.Context(), a, api, err, "/replicas", format, func(rows []listing.Replica) table[listing.Replica] { return replicaListing(rows, time.Now()) })
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, lacking := cl.Replicas(c.Context())
				if err := listing.Whole(lacking); err != nil {
					return err
				}
				return errors.Join(replicaListing(rows, time.Now()).print(a.Out, format), lacking)
			})
		},
	}
	outputFlag(c, &format)
	return c
}

func replicaListing(rows []listing.Replica, now time.Time) table[listing.Replica] {
	return table[listing.Replica]{
		columns: []string{"REPLICA", "STATE", "HOST", "UP", "SEEN", "VERSION", "CONFIG", "LABELS", "RUNNING"},
		cells: func(r listing.Replica) []string {
			running := strings.Join(r.Running, " ")
			if running == "" {
				running = "-"
			}
			return []string{
				r.ID, stateCell(r), r.Host + ":" + strconv.Itoa(r.PID), since(listing.Time(r.Started), now),
				fmt.Sprintf("%s ago", since(listing.Time(r.Seen), now)), r.Version, clip(dash(r.ConfigHash), 8), labels(r.Labels), running,
			}
		},
		rows:  rows,
		empty: "no replica was seen lately",
		drop:  []string{"LABELS", "HOST", "VERSION", "CONFIG"},
		cut:   []string{"RUNNING", "REPLICA"},
	}
}

// stateCell is the state, and of a clock that is off by how much.
func stateCell(r listing.Replica) string {
	if r.State == scheduler.StateSkewed {
		return r.State + ", " + r.Clock()
	}
	return r.State
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
	return strings.Join(words, " ")
}

// since is the time from then to now for people, "-" if then is unknown.
func since(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return short(max(now.Sub(then), 0))
}
