package scheduler

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
)

// mostBeats bounds how many of the last extensions are kept of a run, which may
// last for days.
const mostBeats = 16

// Beats are the extensions of the lease of a run: how many there were, and of them
// the last ones and the worst.
type Beats struct {
	Count, Failed int
	// Least is the one that began with least validity left.
	Least Beat
	// Lapse is the last that failed, and Why says why; zero if none has.
	Lapse Beat
	Why   string
	Last  []Beat // oldest first
}

// A Beat is one try to extend a lease.
type Beat struct {
	At time.Time // when it began
	// Left is how much longer the lease would have lasted then, and Took how long
	// the try took.
	Left, Took time.Duration
	Failed     bool
	// Answers are those of the nodes, in the order of Entry.Poll; zero if they are
	// not known.
	Answers [locking.MostNodes]locking.Answer
}

// A pulse gathers beats. It has one writer at a time and any number of readers,
// who must not change what they get.
type pulse struct{ beats atomic.Pointer[Beats] }

// add takes in an extension that ended now.
func (p *pulse) add(x locking.Extension, now time.Time) {
	b := Beat{At: now.Add(-x.Took), Left: x.Left, Took: x.Took, Failed: x.Err != nil, Answers: x.Poll.Answers}
	all := Beats{Least: b}
	if before := p.beats.Load(); before != nil {
		all = *before
	}
	all.Count++
	if b.Left < all.Least.Left {
		all.Least = b
	}
	if b.Failed {
		all.Failed++
		all.Lapse, all.Why = b, shortReason(x.Err)
	}
	keep := all.Last[max(0, len(all.Last)+1-mostBeats):]
	all.Last = append(slices.Clip(keep), b)
	p.beats.Store(&all)
}

// longestWhy bounds why an extension failed, in bytes.
const longestWhy = 500

func shortReason(err error) string {
	if lost, ok := errors.AsType[*slotError](err); ok {
		err = lost // the joined text names it after the job's
	}
	return clipTo(err.Error(), longestWhy)
}
