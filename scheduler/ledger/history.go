package ledger

import (
	"cmp"
	"time"
)

// History bounds what is kept of a job's past: by the Archive, at the end of
// each run and when a tick without one is recorded.
type History struct {
	// Keep is how many runs, how many ticks that did not run, and how many logs. Default,
	// and at most: MaxKeep.
	Keep int
	// MaxAge is how old the tick of an entry or a log may be. 0: any age.
	MaxAge time.Duration
	// MaxBytes bounds all logs of the job together, on each node. Default
	// DefaultLogBytes; negative: no logs are kept.
	MaxBytes int
}

// MaxKeep bounds the runs of a job in the ledger, and the ticks that did not run, whatever
// its History.
const MaxKeep = 1000

// Bounded tells whether h drops entries that the ledger would keep.
func (h History) Bounded() bool { return h.Keep > 0 && h.Keep < MaxKeep || h.MaxAge > 0 }

// DefaultLogBytes is what a node keeps of a job's logs by default.
const DefaultLogBytes = 256 << 10

// WithDefaults returns a copy in which every zero value has its default.
func (h History) WithDefaults() History {
	h.Keep = min(cmp.Or(h.Keep, MaxKeep), MaxKeep)
	h.MaxBytes = cmp.Or(h.MaxBytes, DefaultLogBytes)
	return h
}
