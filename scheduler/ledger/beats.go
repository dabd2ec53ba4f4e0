package ledger

import (
	"time"

	"github.com/quorate/quorate/locking"
)

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
