package records

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/store/single/kv"
)

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

// EntryOrder begins the Sub of the key of an entry, or of an act in a log. It is smaller for
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

// LifeKey is the key of the store's [Life].
func LifeKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "life"} }

// ServiceKey is the key of the [Service] that the store belongs to.
func ServiceKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "service"} }

// ForgottenKey is the key of what was [Forgotten].
func ForgottenKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "forgotten"} }

// ProbeKey is the key of a record that is only written, to see that the store takes writes.
func ProbeKey() kv.Key { return kv.Key{Kind: kv.Cluster, Name: "probe"} }
