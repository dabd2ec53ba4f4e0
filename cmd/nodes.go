package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/listing"
)

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
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteNodes(c.Context(), api, err, format)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return a.showNodes(cl.Nodes(c.Context()), format)
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

func (a App) remoteNodes(ctx context.Context, s *server, err error, format string) error {
	if err != nil {
		return err
	}
	list, err := rows[listing.Node](ctx, s, "/nodes", nil, 0)
	if err != nil {
		return err
	}
	return a.showNodes(list, format)
}

// showNodes prints the rows, and returns an error unless a quorum of each cell
// answers.
func (a App) showNodes(list []listing.Node, format string) error {
	if err := printNodes(a.Out, list, format); err != nil {
		return err
	}
	var errs []error
	for _, cell := range byCell(list, func(r listing.Node) *string { return r.Cell }) {
		answered := 0
		for _, n := range cell {
			if listing.Answers(n.State) {
				answered++
			}
		}
		errs = append(errs, inCell(listing.Text(cell[0].Cell), quorumOf(answered, len(cell))))
	}
	return errors.Join(errs...)
}

// byCell groups rows that stand in the order of their cells.
func byCell[R any](rows []R, cell func(R) *string) [][]R {
	var groups [][]R
	for i, r := range rows {
		if i == 0 || listing.Text(cell(r)) != listing.Text(cell(rows[i-1])) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], r)
	}
	return groups
}

// quorumOf returns locking.ErrNoQuorum unless enough nodes answered.
func quorumOf(answered, of int) error {
	if answered > of/2 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d; start the others", locking.ErrNoQuorum, answered, of)
}

// printNodes writes the rows, and for people below them what there is to say.
func printNodes(w io.Writer, list []listing.Node, format string) error {
	if err := nodeListing(list).print(w, format); err != nil || format == "json" {
		return err
	}
	for _, row := range list {
		if notes := nodeNotes(row); notes != "" {
			remark(w, row.Node, notes)
		}
	}
	return nil
}

func nodeListing(list []listing.Node) table[listing.Node] {
	return cellColumn(table[listing.Node]{
		columns: []string{"NODE", "STATE", "SINCE", "VOUCHES", "RUN", "EPOCH", "OFFSET"},
		cells: func(r listing.Node) []string {
			return []string{
				r.Node, r.State, remembers(r), vouches(r), fmt.Sprintf("%.8s", dash(r.RunID)), dash(r.Epoch), ms(r.OffsetMilli),
			}
		},
		rows: list,
		drop: []string{"EPOCH", "RUN"},
		cut:  []string{"NODE"},
	}, func(r listing.Node) *string { return r.Cell })
}

// remembers is the moment since which the node does, to the second.
func remembers(r listing.Node) string {
	switch {
	case r.Since != nil:
		return (*r.Since)[:len(time.DateTime)] + "Z" // without the milliseconds
	case r.State == "voting":
		return "declared new"
	}
	return "-"
}

func vouches(r listing.Node) string {
	switch {
	case r.State == "voting":
		return "now"
	case r.VouchesAt != nil && r.State == "abstaining":
		return "from " + (*r.VouchesAt)[len("2006-01-02T"):len(time.DateTime)] + "Z"
	}
	return "-"
}

// nodeNotes is what is to be said of the node in words.
func nodeNotes(r listing.Node) string {
	var notes []string
	if r.Error != nil {
		notes = append(notes, strings.TrimPrefix(*r.Error, r.Node+": "))
	}
	if r.Why != nil {
		notes = append(notes, *r.Why)
	}
	return strings.Join(append(notes, r.Warnings...), "; ")
}

func ms(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fms", *v)
}
