package view

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// unreadableTicks is how many of the latest ticks Unreadable reads.
const unreadableTicks = 500

// Notes are what a check says of what is stored: of live replicas that should not be beside each
// other, and of records that cannot be read. For these it reads the jobs, the acts and the latest
// ticks; u has noted what was skipped. What cannot be read at all is left to other checks.
func (r Reader) Notes(ctx context.Context, u *unreadable.Log) (notes []Finding) {
	replicas, _ := r.Replicas(ctx)
	for _, text := range Neighbours(replicas) {
		notes = append(notes, Finding{Topic: "replicas", Level: "note", Text: text})
	}
	_, _ = r.Recent(ctx, RecentQuery{Limit: unreadableTicks, Ticks: true})
	_, _ = r.Acts.Open(ctx)
	_, _ = r.Acts.Audit(ctx, acts.KeepAudit)
	if n, first := u.Count(); n > 0 {
		text := fmt.Sprintf("%d stored records cannot be read and are skipped, such as %s: a later release wrote them, or they are damaged", n, first)
		notes = append(notes, Finding{Topic: "records", Level: "note", Text: text})
	}
	return notes
}
