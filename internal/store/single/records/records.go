// Package records is the stored form of what claims and the ledger keep on a consistent
// store, and where they keep it. Package claims writes claims, leases and the entries of
// runs; package ledger reads them, and writes the entries of ticks that did not run.
//
// Times are milliseconds since the Unix epoch. Those of leases are by the store's clock.
package records

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/internal/store/protocol"
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

// A Claim is one claim of a name, as the rules see it. Its note is the holder.
type Claim = protocol.Claim

// All lists the claims.
func (c Claims) All() []Claim {
	return slices.AppendSeq(slices.Clone(c.Earlier), maps.Values(c.Streams))
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

// A Lease is the right to work until a time. It counts only while the [Claims] have an open
// claim of its owner.
type Lease struct {
	Owner string `json:"owner,omitempty"` // empty: nobody has it
	Token uint64 `json:"token,omitempty"`
	Until int64  `json:"until,omitempty"` // its last millisecond, by the store's clock or the holder's
	TTL   int64  `json:"ttl,omitempty"`   // in milliseconds
	// Evicted are those from whom an operator took it.
	Evicted []Eviction `json:"evicted,omitempty"`
}

// An Eviction tells a holder, at its next extension, why it has lost its lease.
type Eviction struct {
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	Until  int64  `json:"until"` // it is kept until then
}

// AsOf is the time by which listings judge leases. On a store without a clock a lease ends
// by its holder's clock, from which that of the caller may differ by half the grace.
func AsOf(s kv.Stamp, grace time.Duration) time.Time {
	if s.Now.IsZero() {
		return s.At().Add(-grace / 2)
	}
	return s.Now
}

// Of returns the open claim whose lease it is at a time; the zero Claim if it does not count.
func (l Lease) Of(c Claims, now time.Time) Claim {
	if claim := c.Of(l.Owner); claim.Open() && now.UnixMilli() <= l.Until {
		return claim
	}
	return Claim{}
}

// A Kind of Entry. Those of runs differ in how certain it is that nobody else worked.
type Kind string

// The kinds.
const (
	Started  Kind = "S" // a run that has not ended
	Finished Kind = "F" // a run
	RanOut   Kind = "R" // a run whose lease had expired before its end
	Late     Kind = "L" // a run that ended when others may have worked
	NotRun   Kind = "N" // a tick that did not run
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Started, Finished, RanOut, Late, NotRun} }

// An Entry is the ledger's record of a run, or of a tick that did not run.
type Entry struct {
	Kind   Kind   `json:"kind"`
	Stream string `json:"stream"`
	// Tick is the order key.
	Tick    int64  `json:"tick"`
	Token   uint64 `json:"token,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // of the claim
	Owner   string `json:"owner,omitempty"`
	Holder  string `json:"holder,omitempty"`
	// Rank is that of a tick that did not run: the greatest stays.
	Rank byte `json:"rank,omitempty"`
	// Note is the scheduler's, as Note returns it.
	Note json.RawMessage `json:"note,omitempty"`
}

// Note returns a note unchanged, or as a JSON string if it is not JSON; nil for none.
func Note(note []byte) json.RawMessage {
	switch {
	case len(note) == 0:
		return nil
	case json.Valid(note):
		return note
	}
	text, _ := plainjson.Marshal(string(note)) // a string always encodes
	return text
}

// An Incarnation is the incarnation of the store that was noted last.
type Incarnation struct {
	ID string `json:"life"` // as in kv.Stamp.Incarnation
	// Since is when this incarnation was first seen, as Next tells it; 0 for a store that was
	// declared new.
	Since int64 `json:"since"`
	// Ahead is a time: tokens up to it may be granted before its time in the incarnation AheadIn, as an
	// operator has allowed. Another incarnation may have forgotten such tokens. 0: none.
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

// PutIncarnation returns the write that stores the incarnation, in the format of this release.
func PutIncarnation(l Incarnation) kv.Write {
	l.Format = format
	return Put(IncarnationKey(), l)
}

// UsableIncarnation decodes the incarnation. It fails if no replica may use the store.
func UsableIncarnation(r kv.Record) (Incarnation, error) {
	l, err := Decode[Incarnation](r)
	switch {
	case err != nil:
	case l.Copying:
		err = kv.ErrCopying
	case l.Format > format:
		err = fmt.Errorf("%w for this release: its records have format %d, and this release knows %d: upgrade quorate", kv.ErrNotReady, l.Format, format)
	}
	return l, err
}

// Now is the incarnation of the store that answered with a stamp, and whether it is one that no
// record has.
func (l Incarnation) Now(s kv.Stamp, grace time.Duration) (now Incarnation, unnoted bool) {
	// An incarnation that seems to begin a grace ahead was noted before the clock was set back.
	if l.ID == s.Incarnation && l.Since <= s.At().Add(grace).UnixMilli() {
		return l, false
	}
	return l.Next(s, grace), true
}

// Next is the incarnation after l, of a store that has just been noticed to have begun one: by the
// store's clock. If it has none, by the caller's, and half a grace later: by so much others'
// clocks may be ahead.
func (l Incarnation) Next(s kv.Stamp, grace time.Duration) Incarnation {
	since := s.At()
	if s.Now.IsZero() {
		since = since.Add(grace / 2)
	}
	return Incarnation{ID: s.Incarnation, Since: since.UnixMilli(), Ahead: l.Ahead}
}

// Floor is the time up to which the store may have forgotten claims: none are granted until
// then.
func (l Incarnation) Floor(grace time.Duration) int64 {
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

// ClaimsKey is the key of the [Claims] of a name.
func ClaimsKey(name string) kv.Key { return kv.Key{Kind: kv.Claims, Name: name} }

// LeaseKey is the key of the [Lease] of a claim. Ticks whose runs may overlap have leases
// of their own; all other claims of a name share one.
func LeaseKey(name string, c Claim) kv.Key {
	k := kv.Key{Kind: kv.Leases, Name: name}
	if c.Overlaps {
		k.Sub = fmt.Sprintf("%s %013d", c.Stream, c.Tick)
	}
	return k
}

// lastMilli has as many digits as the milliseconds of all ticks.
const lastMilli = 9_999_999_999_999

// EntryKey is the key of an [Entry]. Keys of a job are in the order of listings: the newest
// tick first.
func EntryKey(job string, e Entry) kv.Key {
	return kv.Key{Kind: kv.Entries, Name: job, Sub: fmt.Sprintf("%s %s %016x", EntryOrder(e.Tick), e.Stream, e.Token)}
}

// EntryOrder begins the Sub of the key of an entry, or of a command in a log. It is smaller for
// later times.
func EntryOrder(milli int64) string { return fmt.Sprintf("%013d", max(0, lastMilli-milli)) }

// MilliOf is the inverse of EntryOrder; what is no such text is at the end of time.
func MilliOf(order string) int64 {
	before, _ := strconv.ParseInt(order, 10, 64)
	return max(0, lastMilli-max(0, before))
}

// EntryOf is what the key of an [Entry] says of it: its place, and whether it is of a run. It is for
// records that cannot be read.
func EntryOf(k kv.Key) Entry {
	order, rest, _ := strings.Cut(k.Sub, " ")
	stream, token, _ := strings.Cut(rest, " ")
	e := Entry{Kind: NotRun, Stream: stream, Tick: MilliOf(order)}
	if e.Token, _ = strconv.ParseUint(token, 16, 64); e.Token > 0 {
		e.Kind = Finished
	}
	return e
}

// IncarnationKey is the key of the store's [Incarnation].
func IncarnationKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "life"} }

// ServiceKey is the key of the [Service] that the store belongs to.
func ServiceKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "service"} }

// ForgottenKey is the key of what was [Forgotten].
func ForgottenKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "forgotten"} }

// ProbeKey is the key of a record that is only written, to see that the store takes writes.
func ProbeKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "probe"} }

// Decode returns what r holds; the zero value if there is no record.
func Decode[T any](r kv.Record) (T, error) {
	var v T
	if r.Version == 0 {
		return v, nil
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, fmt.Errorf("decoding the record %s: %w", r.Key, err)
	}
	return v, nil
}

// Put returns the write that stores v.
func Put[T any](k kv.Key, v T) kv.Write {
	text, _ := plainjson.Marshal(v) // numbers, texts and valid JSON always encode
	return kv.Write{Key: k, Value: text}
}
