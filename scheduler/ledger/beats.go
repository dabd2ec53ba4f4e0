package ledger

import (
	"time"

	"github.com/quorate/quorate/locking"
)

// Beats are the extensions of a run's lease: their number, the last ones and the worst.
type Beats struct {
	Count, Failed int
	// Least is the one that began with the least remaining validity.
	Least Beat
	// Lapse is the last that failed, and Why says why; zero if none has.
	Lapse Beat
	Why   string
	Last  []Beat // oldest first
}

// A Beat is one try to extend a lease.
type Beat struct {
	At time.Time // when it began
	// Left is how much longer the lease would have lasted, and Took the duration of the
	// try.
	Left, Took time.Duration
	Failed     bool
	// Answers are the nodes' answers, in the order of Entry.Poll; zero if unknown.
	Answers [locking.MostNodes]locking.Answer
}
