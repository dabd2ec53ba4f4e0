package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
)

func replicasCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:     "replicas",
		Short:   "List the replicas that were seen lately, and the lost ones",
		Example: "  quorate replicas",
		RunE:    listRows(a, cluster.Cluster.Replicas, asOfNow(replicaListing)),
	}
	outputFlag(c, a)
	return c
}

func replicaListing(rows []view.Replica, now time.Time) output.Table[view.Replica] {
	return output.Table[view.Replica]{
		Columns: []string{"REPLICA", "STATE", "HOST", "UP", "SEEN", "VERSION", "CONFIG", "LABELS", "RUNNING"},
		Cells: func(r view.Replica) []string {
			running := strings.Join(r.Running, " ")
			if running == "" {
				running = "-"
			}
			return []string{
				r.ID, stateCell(r), r.Host + ":" + strconv.Itoa(r.PID), output.Since(view.Time(r.Started), now),
				fmt.Sprintf("%s ago", output.Since(view.Time(r.Seen), now)), r.Version, output.Dash(r.ConfigHash), labels(r.Labels), running,
			}
		},
		Rows:  rows,
		Empty: "no replica was seen lately",
		Drop:  []string{"LABELS", "HOST", "VERSION", "CONFIG"},
		Cut:   []string{"RUNNING", "REPLICA"},
	}
}

// stateCell shows the state, the offset of a skewed clock, and what is wrong beside others.
func stateCell(r view.Replica) string {
	text := r.State
	if r.State == scheduler.StateSkewed {
		text += ", " + r.Clock()
	}
	if r.Shared {
		text += ", id in use twice"
	}
	if len(r.Strangers) > 0 {
		text += ", other jobs named " + view.And(r.Strangers)
	}
	return text
}

// labels shows labels sorted by key, "-" for none.
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
