package ledger

import (
	"cmp"
	"time"
)

// History bounds the stored past of a job. The Archive applies it at the end of each run
// and when a tick without one is recorded.
type History struct {
	// Keep bounds the runs, the ticks without a run, and the logs, each. Default, and at
	// most: MaxKeep.
	Keep int
	// MaxAge bounds the age of entries and logs. 0: any age.
	MaxAge time.Duration
	// MaxBytes bounds all logs of the job together, on each node. Default
	// DefaultLogBytes; negative: no logs are kept.
	MaxBytes int
}

// MaxKeep bounds the runs of a job in the ledger, and the ticks without a run, whatever its
// History.
const MaxKeep = 1000

// Bounded reports whether h drops entries that the ledger would keep.
func (h History) Bounded() bool { return h.Keep > 0 && h.Keep < MaxKeep || h.MaxAge > 0 }

// DefaultLogBytes is the default of History.MaxBytes.
const DefaultLogBytes = 256 << 10

// WithDefaults returns a copy in which every zero value has its default.
func (h History) WithDefaults() History {
	h.Keep = min(cmp.Or(h.Keep, MaxKeep), MaxKeep)
	h.MaxBytes = cmp.Or(h.MaxBytes, DefaultLogBytes)
	return h
}
