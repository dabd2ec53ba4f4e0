package attempt

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// maxBeats bounds how many extensions of a run are stored. It may last for days.
const maxBeats = 16

// A pulse collects beats. It has one writer at a time and any number of readers, which must
// not change them.
type pulse struct{ beats atomic.Pointer[ledger.Beats] }

// add adds an extension that ended now.
func (p *pulse) add(x locking.Extension, now time.Time) {
	b := ledger.Beat{At: now.Add(-x.Took), Left: x.Left, Took: x.Took, Failed: x.Err != nil, Answers: x.Poll.Answers}
	all := ledger.Beats{Least: b}
	if before := p.beats.Load(); before != nil {
		all = *before
	}
	all.Count++
	if b.Left < all.Least.Left {
		all.Least = b
	}
	if b.Failed {
		all.Failed++
		all.Lapse, all.Why = b, lapseReason(x.Err)
	}
	keep := all.Last[max(0, len(all.Last)+1-maxBeats):]
	all.Last = append(slices.Clip(keep), b)
	p.beats.Store(&all)
}

func lapseReason(err error) string {
	if lost, ok := errors.AsType[*slotError](err); ok {
		err = lost // the joined text names it after the job's
	}
	return err.Error()
}
