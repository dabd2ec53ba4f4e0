package listing

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// unreadableTicks is how many of the latest ticks Unreadable reads.
const unreadableTicks = 500

// Unreadable reads the jobs, the replicas, the acts and the latest ticks, and says how many records u
// has noted; "" for none. What cannot be read at all is left to other checks.
func (r Reader) Unreadable(ctx context.Context, u *unreadable.Log) string {
	_, _ = r.Recent(ctx, RecentQuery{Limit: unreadableTicks, Ticks: true})
	_, _ = r.Acts.Open(ctx)
	_, _ = r.Acts.Audit(ctx, acts.KeepAudit)
	n, first := u.Count()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d stored records cannot be read and are skipped, such as %s: a later release wrote them, or they are damaged", n, first)
}
