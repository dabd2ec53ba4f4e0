package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A nodeRow is one node as `quorate nodes -o json` shows it.
type nodeRow struct {
	Cell        *string  `json:"cell"` // null if there is one group of nodes
	Node        string   `json:"node"`
	URL         string   `json:"url"`
	State       string   `json:"state"` // voting, abstaining, sealed, blank, refusing, down
	Error       *string  `json:"error"`
	Why         *string  `json:"why"` // it does not vouch yet
	Since       *string  `json:"since"`
	VouchesAt   *string  `json:"vouches_at"`
	Members     []string `json:"members"`
	Epoch       *int64   `json:"epoch"`
	SealedFor   []string `json:"sealed_for"`
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
		Short: "List the nodes: who votes, who does not vouch yet, until when and why",
		Long: `List the nodes: who votes, who does not vouch yet, until when and why. SINCE is
the moment since which a node remembers, RUN the start of its server's run_id,
which tells one life of a node from the next, EPOCH how often the list of nodes
was changed, OFFSET how far the node's clock is ahead of this machine's. Exit code
4 when fewer than a quorum answer.`,
		Example: `  quorate nodes
  quorate nodes check     # is all well, and may the next one be restarted?
  quorate nodes init      # these nodes are new: nobody needs to wait for the grace`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				var list []cellNodes
				for _, s := range cl.Sets {
					list = append(list, cellNodes{s, s.Inspect(c.Context())})
				}
				if err := printNodes(a.Out, list, format); err != nil {
					return err
				}
				var errs []error
				for _, cell := range list {
					errs = append(errs, inCell(cell.set, quorumOf(cell.nodes, cell.set.Quorum())))
				}
				return errors.Join(errs...)
			})
		},
	}
	outputFlag(c, &format)
	c.AddCommand(a.nodesInitCommand(f), a.nodesCheckCommand(f), a.nodesChangeCommand(f))
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
				return cl.inCells(func(s *nodes.Set) error {
					if err := s.Init(c.Context(), recovery); err != nil {
						return err
					}
					of := "namespace " + s.Namespace()
					if s.Cell() != "" {
						of = "cell " + s.Cell() + " of " + of
					}
					if recovery {
						fmt.Fprintf(a.Out, "the blank nodes of %s are formatted, and abstain for %v\n", of, s.Grace())
						return nil
					}
					fmt.Fprintf(a.Out, "all %d nodes of %s are declared new\n", s.Len(), of)
					return nil
				})
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

// A cellSet is a *nodes.Set, as far as listings need one.
type cellSet interface {
	Cell() string
	Len() int
	Quorum() int
}

// A cellNodes is one group of nodes, and what was found of them.
type cellNodes struct {
	set   cellSet
	nodes []nodes.Status
}

// printNodes writes the rows, and for people below them what there is to say.
func printNodes(w io.Writer, list []cellNodes, format string) error {
	l := nodeListing(list)
	if err := l.print(w, format); err != nil || format == "json" {
		return err
	}
	for _, row := range l.rows {
		if notes := nodeNotes(row); notes != "" {
			remark(w, row.Node, notes)
		}
	}
	return nil
}

func nodeListing(list []cellNodes) listing[nodeRow] {
	l := listing[nodeRow]{
		columns: []string{"NODE", "STATE", "SINCE", "VOUCHES", "RUN", "EPOCH", "OFFSET"},
		cells: func(r nodeRow) []string {
			return []string{
				clip(r.Node, 24), r.State, remembers(r), vouches(r), fmt.Sprintf("%.8s", dash(r.RunID)), dash(r.Epoch), ms(r.OffsetMilli),
			}
		},
	}
	for _, cell := range list {
		for _, s := range cell.nodes {
			row := newNodeRow(s)
			row.Cell = optional(cell.set.Cell())
			l.rows = append(l.rows, row)
		}
	}
	return cellColumn(l, func(r nodeRow) *string { return r.Cell })
}

func newNodeRow(s nodes.Status) nodeRow {
	row := nodeRow{
		Node: s.Name, URL: s.URL, State: nodeState(s), Since: stamp(s.Since), VouchesAt: stamp(s.VouchesAt),
		Members: s.Members, Role: optional(s.Role), Version: optional(s.Version),
		RunID: optional(s.RunID), Embedded: s.Embedded, Persistence: optional(s.Persistence),
		Eviction: optional(s.MaxmemoryPolicy), Warnings: s.Warnings, Why: optional(s.Why), SealedFor: s.SealedFor,
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
	case len(s.SealedFor) > 0:
		return "sealed"
	case errors.Is(s.Err, locking.ErrRefused):
		return "refusing"
	case s.Blank:
		return "blank"
	case s.Vouches:
		return "voting"
	}
	return "abstaining"
}

// remembers is the moment since which the node does, to the second.
func remembers(r nodeRow) string {
	switch {
	case r.Since != nil:
		return (*r.Since)[:len(time.DateTime)] + "Z" // without the milliseconds
	case r.State == "voting":
		return "declared new"
	}
	return "-"
}

func vouches(r nodeRow) string {
	switch {
	case r.State == "voting":
		return "now"
	case r.VouchesAt != nil && r.State == "abstaining":
		return "from " + (*r.VouchesAt)[len("2006-01-02T"):len(time.DateTime)] + "Z"
	}
	return "-"
}

// nodeNotes is what is to be said of the node in words.
func nodeNotes(r nodeRow) string {
	var notes []string
	if r.Error != nil {
		notes = append(notes, strings.TrimPrefix(*r.Error, r.Node+": "))
	}
	if r.Why != nil {
		notes = append(notes, *r.Why)
	}
	return strings.Join(append(notes, r.Warnings...), "; ")
}

func millis(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

func ms(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fms", *v)
}
