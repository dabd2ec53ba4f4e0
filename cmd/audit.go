package cmd

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// An auditing is what the flags of the audit log ask for.
type auditing struct {
	since, by, job, refused string
	acts                    []string
	limit                   int
}

func (a App) auditCommand(f *flags) *cobra.Command {
	var format string
	var of auditing
	c := &cobra.Command{
		Use:   "audit",
		Short: "List what was asked of the cluster, newest first: who, why, and what came of it",
		Long: `List what was asked of the cluster, newest first: triggers, backfills, cancels,
pauses, resumes and releases, with who asked, why, and what became of it. RESULT is -
while a request is open, and for pauses and resumes. What was refused to who lacks the
role for it stands there, too. The nodes keep the last 1000 acts or more, and the last
200 that were refused.`,
		Example: `  quorate audit
  quorate audit --by ann --since 24h
  quorate audit --job nightly-report --act pause,resume
  quorate audit --refused yes -o json | jq -r '.[].by'`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := of.query(time.Now())
			if err != nil {
				return err
			}
			if api, err := f.api(); api != nil || err != nil {
				return printSome(c.Context(), a, api, err, "/audit", auditingOf(q), q.Limit, format, auditListing)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, _, lacking := cl.AuditPage(c.Context(), q)
				if err := listing.Whole(lacking); err != nil {
					return err
				}
				return errors.Join(auditListing(rows).print(a.Out, format), lacking)
			})
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &of.limit, usualRows)
	auditFlags(c, &of)
	return c
}

// auditFlags adds the flags that narrow the audit log. They are called as the
// parameters of the API.
func auditFlags(c *cobra.Command, of *auditing) {
	flags, yesNo := c.Flags(), []string{"yes", "no"}
	flags.StringVar(&of.since, "since", "", "only what was asked for from this `time` on: RFC 3339, or how long ago (24h)")
	flags.StringVar(&of.by, "by", "", "only of those whose name or address has this `text`")
	flags.StringVar(&of.job, "job", "", "only about the job with this `name`, or the tag")
	flags.StringSliceVar(&of.acts, "act", nil, "only these `acts`: "+strings.Join(actNames(), ", "))
	flags.StringVar(&of.refused, "refused", "", "`yes`: only what was refused; no: only the rest")
	// Completion is a convenience; flags that exist cannot fail to take it.
	completeList(c, "act", actNames())
	completeList(c, "refused", yesNo)
}

func actNames() []string {
	var names []string
	for _, kind := range []scheduler.ActKind{
		scheduler.ActTrigger, scheduler.ActBackfill, scheduler.ActCancel, scheduler.ActPause, scheduler.ActResume, scheduler.ActRelease,
	} {
		names = append(names, string(kind))
	}
	return names
}

// query returns what the flags ask for.
func (of auditing) query(now time.Time) (listing.AuditQuery, error) {
	q := listing.AuditQuery{Limit: of.limit, By: of.by, Job: of.job}
	var err error
	if q.Since, err = instant("--since", of.since, now); err != nil {
		return q, err
	}
	if q.Kinds, err = chosen[scheduler.ActKind]("--act", of.acts, actNames()); err != nil {
		return q, err
	}
	if of.refused != "" {
		_, err = chosen[string]("--refused", []string{of.refused}, []string{"yes", "no"})
		q.Refused = new(of.refused == "yes")
	}
	return q, err
}

// auditingOf is a query as the API takes it.
func auditingOf(q listing.AuditQuery) url.Values {
	query := limited(q.Limit)
	for name, text := range map[string]string{"by": q.By, "job": q.Job} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	for _, kind := range q.Kinds {
		query.Add("act", string(kind))
	}
	if q.Refused != nil {
		query.Set("refused", map[bool]string{true: "yes", false: "no"}[*q.Refused])
	}
	return query
}

func auditListing(rows []listing.Act) table[listing.Act] {
	return table[listing.Act]{
		columns: []string{"AT", "ACT", "OF", "BY", "RESULT", "WHY"},
		cells: func(r listing.Act) []string {
			return []string{r.At, string(r.Kind), r.Target(), dash(r.By), clip(dash(r.Result), 120), clip(dash(r.Reason), 120)}
		},
		rows:  rows,
		empty: "nothing was asked of this cluster yet, or nothing like this",
		below: []string{"RESULT", "WHY"},
		cut:   []string{"OF", "BY"},
	}
}
