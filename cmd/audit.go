package cmd

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
)

// An auditRow is one act as `quorate audit -o json` shows it.
type auditRow struct {
	ID          string            `json:"id"`
	At          string            `json:"at"`
	Kind        scheduler.ActKind `json:"kind"`
	Job         *string           `json:"job"`
	Tag         *string           `json:"tag"`
	All         bool              `json:"all"`
	By          *string           `json:"by"`
	Reason      *string           `json:"reason"`
	Run         *string           `json:"run"` // that was cancelled, or that a trigger asked for
	Parent      *string           `json:"parent"`
	Params      json.RawMessage   `json:"params"`
	From        *string           `json:"from"`
	To          *string           `json:"to"`
	Concurrency *int              `json:"concurrency"`
	Expires     *string           `json:"expires"`
	Result      *string           `json:"result"`
	Closed      *string           `json:"closed"`
}

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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				acts, err := cl.acts.Audit(c.Context(), limit)
				if err != nil {
					return err
				}
				return errors.Join(auditListing(acts).print(a.Out, format), cl.lacking.err)
			})
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &limit)
	return c
}

func newAuditRow(act scheduler.Act) auditRow {
	row := auditRow{
		ID: act.ID, At: *stamp(act.At), Kind: act.Kind, Job: optional(act.Job), Tag: optional(act.Tag), All: act.All,
		By: optional(act.By), Reason: optional(act.Reason), Run: optional(act.Run), Parent: optional(act.Parent),
		Params: act.Params, From: stamp(act.From), To: stamp(act.To),
		Result: optional(act.Result), Closed: stamp(act.Closed),
	}
	if act.Kind.Request() {
		row.Expires = stamp(act.Expires())
	}
	if act.Concurrency > 0 {
		row.Concurrency = &act.Concurrency
	}
	if act.Kind == scheduler.ActTrigger {
		run := scheduler.Entry{Job: act.Job, Order: act.At, Stream: scheduler.StreamManual}
		row.Run = optional(run.ID())
	}
	return row
}

func auditListing(acts []scheduler.Act) listing[auditRow] {
	l := listing[auditRow]{
		columns: []string{"AT", "ACT", "OF", "BY", "RESULT", "WHY"},
		empty:   "nothing was asked of this cluster yet",
	}
	target := map[string]string{}
	l.cells = func(r auditRow) []string {
		return []string{r.At, string(r.Kind), clip(target[r.ID], 24), clip(dash(r.By), 24), clip(dash(r.Result), 40), clip(dash(r.Reason), 60)}
	}
	for _, act := range acts {
		target[act.ID] = act.Target()
		l.rows = append(l.rows, newAuditRow(act))
	}
	return l
}
