package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
)

// An auditing holds the flags of the audit log.
type auditing struct {
	since, by, job, refused string
	acts                    []string
	limit                   int
}

func auditCommand(a *cli) *cobra.Command {
	var of auditing
	c := &cobra.Command{
		Use:   "audit",
		Short: "List the acts on the cluster, newest first: who, why, and the result",
		Long: `List the acts on the cluster, newest first: triggers, backfills, cancels, pauses,
resumes and releases, with author, reason and result. RESULT is - for a pending
request, and for pauses and resumes. The list includes acts that were refused because
their author lacked the role. The store keeps at least the last 1000 acts, and the
last 200 refused ones.`,
		Example: `  quorate audit
  quorate audit --by ann --since 24h
  quorate audit --job nightly-report --act pause,resume
  quorate audit --refused yes -o json | jq -r '.[].by'`,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := of.query(time.Now())
			if err != nil {
				return err
			}
			return a.withCluster(c.Context(), func(cl cluster.Cluster) error {
				rows, err := cl.Audit(c.Context(), q)
				return printRows(a, auditListing, rows, err)
			})
		},
	}
	outputFlag(c, a)
	limitFlag(c, &of.limit, usualRows)
	auditFlags(c, &of)
	return c
}

// auditFlags adds the filters of the audit log, named like the API's parameters.
func auditFlags(c *cobra.Command, of *auditing) {
	flags := c.Flags()
	flags.StringVar(&of.since, "since", "", "only acts from this `time` on: RFC 3339, or an age (24h)")
	flags.StringVar(&of.by, "by", "", "only acts whose author's name or address contains this `text`")
	flags.StringVar(&of.job, "job", "", "only acts on the job or tag with this `name`")
	listFlag(c, &of.acts, "act", "only these `acts`", acts.Kinds())
	flags.StringVar(&of.refused, "refused", "", "`yes`: only refused acts; no: only the others")
	completeList(c, "refused", yesNo())
}

// query returns the query that the flags stand for.
func (of auditing) query(now time.Time) (view.AuditQuery, error) {
	q := view.AuditQuery{Limit: of.limit, By: of.by, Job: of.job}
	var err error
	if q.Since, err = instant("--since", of.since, now); err != nil {
		return q, err
	}
	if q.Kinds, err = chosen("--act", of.acts, acts.Kinds()); err != nil {
		return q, err
	}
	if of.refused != "" {
		_, err = chosen("--refused", []string{of.refused}, yesNo())
		q.Refused = new(of.refused == "yes")
	}
	return q, err
}

func auditListing(rows []view.Act) output.Table[view.Act] {
	return output.Table[view.Act]{
		Columns: []string{"AT", "ACT", "OF", "BY", "RESULT", "WHY"},
		Cells: func(r view.Act) []string {
			return []string{r.At, string(r.Kind), r.Target(), output.Dash(r.By), output.Dash(r.Result), output.Dash(r.Reason)}
		},
		Rows:  rows,
		Empty: "no acts, or none that match",
		Below: []string{"RESULT", "WHY"},
		Cut:   []string{"OF", "BY"},
	}
}

func yesNo() []string { return []string{"yes", "no"} }
