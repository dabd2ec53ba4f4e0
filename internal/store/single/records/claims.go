package records

import (
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Claims are the claims of a name. FINISH and VOID write them without their leases, so a
// lease counts only while its claim is here and is open.
type Claims struct {
	// Fence is the largest token accepted; 0 if nothing was claimed.
	Fence uint64 `json:"fence,omitempty"`
	// Open is the owner of the claim accepted last, until that claim ends.
	Open string `json:"open,omitempty"`
	// Streams are the latest claims, by stream.
	Streams map[string]Claim `json:"streams,omitempty"`
	// Earlier are claims of ticks whose stream has a later claim, and whose run may go on
	// beside it.
	Earlier []Claim `json:"earlier,omitempty"`
}

// A Claim is one claim of a name.
type Claim struct {
	Stream   string `json:"stream"`
	Tick     int64  `json:"tick,omitempty"` // 0 for plain locks
	Token    uint64 `json:"token"`
	Owner    string `json:"owner"` // a random value that no other try ever has
	Attempt  int    `json:"attempt"`
	Rerun    bool   `json:"rerun,omitempty"`    // it was requested locking.AtLeastOnce
	Overlaps bool   `json:"overlaps,omitempty"` // it was requested beside others
	Holder   string `json:"holder,omitempty"`
	// Void: it was given back. Ended is what FINISH answered, one of OK, RANOUT and LATE;
	// Handed means that the tick is not done.
	Void   bool   `json:"void,omitempty"`
	Ended  string `json:"ended,omitempty"`
	Handed bool   `json:"handed,omitempty"`
}

// Open reports whether the claim has neither ended nor was given back.
func (c Claim) Open() bool { return c.Owner != "" && !c.Void && c.Ended == "" }

// All lists the claims.
func (c Claims) All() []Claim {
	list := slices.Clone(c.Earlier)
	for _, latest := range c.Streams {
		list = append(list, latest)
	}
	return list
}

// Of returns the claim of an owner; the zero Claim if it is not here.
func (c Claims) Of(owner string) Claim {
	for _, claim := range c.All() {
		if owner != "" && claim.Owner == owner {
			return claim
		}
	}
	return Claim{}
}

// LeaseKeys are the keys of all leases that may count.
func (c Claims) LeaseKeys(name string) []kv.Key {
	keys := []kv.Key{LeaseKey(name, Claim{})}
	for _, claim := range c.All() {
		if claim.Overlaps && claim.Open() {
			keys = append(keys, LeaseKey(name, claim))
		}
	}
	return keys
}
