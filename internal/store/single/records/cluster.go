package records

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Life is the life of the store that was noted last.
type Life struct {
	Life string `json:"life"` // as in a kv.Stamp
	// Since is when this life was first seen, as [NewLife] tells it; 0 for a store that was
	// declared new.
	Since int64 `json:"since"`
	// Ahead is a time: tokens up to it may be granted before its time in the life AheadIn, as an
	// operator has allowed. Another life may have forgotten such tokens. 0: none.
	Ahead   int64  `json:"ahead,omitempty"`
	AheadIn string `json:"ahead_in,omitempty"`
	// Copying: a copy to this store has not finished. No replica may use it.
	Copying bool `json:"copying,omitempty"`
	// Format is that of all records: 0 is the first one. A release that stores what the one
	// before it would misread makes it larger.
	Format int `json:"format,omitempty"`
}

// format is the Format of this release.
const format = 0

// PutLife returns the write that stores the life, in the format of this release.
func PutLife(l Life) kv.Write {
	l.Format = format
	return Put(LifeKey(), l)
}

// UsableLife decodes the life. It fails if no replica may use the store.
func UsableLife(r kv.Record) (Life, error) {
	l, err := Decode[Life](r)
	switch {
	case err != nil:
	case l.Copying:
		err = kv.ErrCopying
	case l.Format > format:
		err = fmt.Errorf("%w for this release: its records have format %d, and this release knows %d: upgrade quorate", kv.ErrNotReady, l.Format, format)
	}
	return l, err
}

// Now is the life of the store that answered with a stamp, and whether it is one that no
// record has.
func (l Life) Now(s kv.Stamp, grace time.Duration) (now Life, unnoted bool) {
	// A life that seems to begin a grace ahead was noted before the clock was set back.
	if l.Life == s.Life && l.Since <= s.At().Add(grace).UnixMilli() {
		return l, false
	}
	return l.Next(s, grace), true
}

// Next is the life after l, of a store that has just been noticed to have begun one.
func (l Life) Next(s kv.Stamp, grace time.Duration) Life {
	next := NewLife(s, grace)
	next.Ahead = l.Ahead
	return next
}

// NewLife is the life of a store that has just been noticed: by the store's clock. If it has
// none, by the caller's, and half a grace later: by so much others' clocks may be ahead.
func NewLife(s kv.Stamp, grace time.Duration) Life {
	since := s.At()
	if s.Now.IsZero() {
		since = since.Add(grace / 2)
	}
	return Life{Life: s.Life, Since: since.UnixMilli()}
}

// Floor is the time up to which the store may have forgotten claims: none are granted until
// then.
func (l Life) Floor(grace time.Duration) int64 {
	if l.Since == 0 {
		return 0
	}
	floor := l.Since + grace.Milliseconds()
	if l.AheadIn == "" {
		floor = max(floor, l.Ahead)
	}
	return floor
}

// Service is the service that the store belongs to.
type Service struct {
	Name string `json:"name"`
}

// Forgotten has the largest token and the latest tick of all names that were forgotten.
// Every FORGET writes it, so a CLAIM of a name without claims compares it.
type Forgotten struct {
	Fence uint64 `json:"fence"`
	Tick  int64  `json:"tick"`
}
