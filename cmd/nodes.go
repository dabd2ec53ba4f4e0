package cmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A nodeRow is one node as `quorate nodes -o json` shows it.
type nodeRow struct {
	Node        string   `json:"node"`
	URL         string   `json:"url"`
	State       string   `json:"state"` // voting, abstaining, blank, refusing, down
	Error       *string  `json:"error"`
	Since       *string  `json:"since"`
	VouchesAt   *string  `json:"vouches_at"`
	Members     []string `json:"members"`
	Epoch       *int64   `json:"epoch"`
	Role        *string  `json:"role"`
	Version     *string  `json:"version"`
	RunID       *string  `json:"run_id"`
	Embedded    bool     `json:"embedded"`
	Persistence *string  `json:"persistence"`
	Eviction    *string  `json:"eviction"`
	RTTMillis   *float64 `json:"rtt_ms"`
	OffsetMilli *float64 `json:"offset_ms"`
	Warnings    []string `json:"warnings"`
}

func (a App) nodesCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes: who votes, who does not vouch yet and until when",
		Long: `List the nodes: who votes, who does not vouch yet and until when. A node that
was restarted abstains for redis.restart_grace; wait until all vote before you
restart the next one. Exit code 4 when fewer than a quorum answer.`,
		Example: `  quorate nodes
  quorate nodes init      # these nodes are new: nobody needs to wait for the grace`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				statuses := cl.set.Inspect(c.Context())
				if err := nodeListing(statuses).print(a.Out, format); err != nil {
					return err
				}
				return quorumOf(statuses, cl.set.Quorum())
			})
		},
	}
	outputFlag(c, &format)
	c.AddCommand(a.nodesInitCommand(f))
	return c
}

func (a App) nodesInitCommand(f *flags) *cobra.Command {
	var recovery bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Say that these nodes are new, so that nothing waits for the grace",
		Long: `Say that these blank nodes never served this namespace, so that they vouch at
once instead of after redis.restart_grace. It works on nodes that are blank, or
were formatted for this list and never accepted a claim, and may be repeated.

With --recover the opposite is assumed, for when a node that is gone for good
keeps blank ones from being formatted: the blank nodes among the quorum that
answers are formatted, and abstain for one grace.`,
		Example: `  quorate nodes init --config prod.yaml
  quorate nodes init --recover`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				if err := cl.set.Init(c.Context(), recovery); err != nil {
					return err
				}
				if recovery {
					fmt.Fprintf(a.Out, "the blank nodes of namespace %s are formatted, and abstain for %v\n", cl.set.Namespace(), cl.set.Grace())
					return nil
				}
				fmt.Fprintf(a.Out, "all %d nodes of namespace %s are declared new\n", cl.set.Len(), cl.set.Namespace())
				return nil
			})
		},
	}
	c.Flags().BoolVar(&recovery, "recover", false, "format the blank nodes of a quorum; they abstain for one grace")
	return c
}

// quorumOf returns locking.ErrNoQuorum unless enough nodes answered.
func quorumOf(statuses []nodes.Status, quorum int) error {
	answered := 0
	for _, s := range statuses {
		if s.Reachable {
			answered++
		}
	}
	if answered >= quorum {
		return nil
	}
	return fmt.Errorf("%w: %d of %d; start the others", locking.ErrNoQuorum, answered, len(statuses))
}

func nodeListing(statuses []nodes.Status) listing[nodeRow] {
	l := listing[nodeRow]{
		columns: []string{"NODE", "STATE", "VOUCHES", "RTT", "OFFSET", "VERSION", "PERSISTENCE", "EVICTION", "NOTES"},
		cells: func(r nodeRow) []string {
			return []string{
				clip(r.Node, 28), r.State, vouches(r), ms(r.RTTMillis), ms(r.OffsetMilli), dash(r.Version),
				dash(r.Persistence), dash(r.Eviction), nodeNotes(r),
			}
		},
	}
	for _, s := range statuses {
		l.rows = append(l.rows, newNodeRow(s))
	}
	return l
}

func newNodeRow(s nodes.Status) nodeRow {
	row := nodeRow{
		Node: s.Name, URL: s.URL, State: nodeState(s), Since: stamp(s.Since), VouchesAt: stamp(s.VouchesAt),
		Members: s.Members, Role: optional(s.Role), Version: optional(s.Version),
		RunID: optional(s.RunID), Embedded: s.Embedded, Persistence: optional(s.Persistence),
		Eviction: optional(s.MaxmemoryPolicy), Warnings: s.Warnings,
	}
	if row.Members == nil {
		row.Members = []string{}
	}
	if row.Warnings == nil {
		row.Warnings = []string{}
	}
	if len(s.Members) > 0 {
		row.Epoch = &s.Epoch
	}
	if s.Since.IsZero() {
		row.VouchesAt = nil // it never waited
	}
	if s.Err != nil {
		row.Error = optional(s.Err.Error())
	}
	if s.Reachable {
		rtt, offset := millis(s.RTT), millis(s.Offset)
		row.RTTMillis, row.OffsetMilli = &rtt, &offset
	}
	return row
}

func nodeState(s nodes.Status) string {
	switch {
	case !s.Reachable:
		return "down"
	case errors.Is(s.Err, locking.ErrRefused):
		return "refusing"
	case s.Blank:
		return "blank"
	case s.Vouches:
		return "voting"
	}
	return "abstaining"
}

func vouches(r nodeRow) string {
	switch {
	case r.State == "voting":
		return "now"
	case r.VouchesAt != nil:
		return "from " + *r.VouchesAt
	}
	return "-"
}

func nodeNotes(r nodeRow) string {
	if r.Error != nil {
		return clip(strings.TrimPrefix(*r.Error, r.Node+": "), 120)
	}
	if len(r.Warnings) > 0 {
		return clip(strings.Join(r.Warnings, "; "), 120)
	}
	return ""
}

func millis(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

func ms(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fms", *v)
}
