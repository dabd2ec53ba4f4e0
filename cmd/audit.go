package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) auditCommand(f *flags) *cobra.Command {
	var format string
	var limit int
	c := &cobra.Command{
		Use:   "audit",
		Short: "List what was asked of the cluster, newest first: who, why, and what came of it",
		Long: `List what was asked of the cluster, newest first: triggers, backfills, cancels,
pauses and resumes, with who asked, why, and what became of it. RESULT is -
while a request is open, and for pauses and resumes. The nodes keep the last 1000 or more.`,
		Example: `  quorate audit
  quorate audit -o json --limit 20 | jq '.[] | select(.kind == "pause")'`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return printRemote(c.Context(), a, api, err, "/audit", limit, format, auditListing)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, lacking := cl.Audit(c.Context(), limit)
				if err := listing.Whole(lacking); err != nil {
					return err
				}
				return errors.Join(auditListing(rows).print(a.Out, format), lacking)
			})
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &limit)
	return c
}

func auditListing(rows []listing.Act) table[listing.Act] {
	return table[listing.Act]{
		columns: []string{"AT", "ACT", "OF", "BY", "RESULT", "WHY"},
		cells: func(r listing.Act) []string {
			return []string{r.At, string(r.Kind), clip(r.Target(), 24), clip(dash(r.By), 24), clip(dash(r.Result), 40), clip(dash(r.Reason), 60)}
		},
		rows:  rows,
		empty: "nothing was asked of this cluster yet",
	}
}
