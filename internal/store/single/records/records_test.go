package records_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// The stored forms change on purpose only: replicas of two releases use them at a time.
func TestForms(t *testing.T) {
	t.Parallel()
	pinned(t, records.Claims{
		Fence: 9, Open: "b",
		Streams: map[string]records.Claim{
			"lock":     {Stream: "lock", Token: 4, Owner: "p", Attempt: 1, Void: true},
			"schedule": {Stream: "schedule", Tick: 2000, Token: 9, Owner: "b", Attempt: 1, Overlaps: true, Note: "host"},
		},
		Earlier: []records.Claim{{Stream: "schedule", Tick: 1000, Token: 7, Owner: "a", Attempt: 2, Mode: protocol.AtLeastOnce, Overlaps: true, Ended: "OK", Handed: true}},
	}, `{"fence":9,"open":"b","streams":{"lock":{"stream":"lock","token":4,"owner":"p","attempt":1,"void":true},`+
		`"schedule":{"stream":"schedule","tick":2000,"token":9,"owner":"b","attempt":1,"overlaps":true,"holder":"host"}},`+
		`"earlier":[{"stream":"schedule","tick":1000,"token":7,"owner":"a","attempt":2,"rerun":true,"overlaps":true,"ended":"OK","handed":true}]}`)
	pinned(t, records.Lease{Owner: "b", Token: 9, Until: 5000, Evicted: []records.Eviction{{Owner: "a", Reason: "stuck", Until: 6000}}},
		`{"owner":"b","token":9,"until":5000,"evicted":[{"owner":"a","reason":"stuck","until":6000}]}`)
	pinned(t, records.Incarnation{ID: "1/2", Since: 3}, `{"life":"1/2","since":3}`)
	pinned(t, records.Forgotten{Fence: 9, Tick: 2000}, `{"fence":9,"tick":2000}`)
	pinned(t, records.Entry{Kind: records.Finished, Stream: "schedule", Tick: 2000, Token: 9, Attempt: 1, Owner: "b", Holder: "host", Note: json.RawMessage(`{"v":2}`)},
		`{"kind":"F","stream":"schedule","tick":2000,"token":9,"attempt":1,"owner":"b","holder":"host","note":{"v":2}}`)
	pinned(t, records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: 2000, Rank: 3}, `{"kind":"N","stream":"schedule","tick":2000,"rank":3}`)
}

func pinned[T any](t *testing.T, v T, want string) {
	t.Helper()
	w := records.Put(records.IncarnationKey(), v)
	if string(w.Value) != want {
		t.Errorf("stored as\n%s, want\n%s", w.Value, want)
	}
	got, err := records.Decode[T](kv.Record{Key: w.Key, Version: 1, Value: w.Value})
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("read as %+v, %v, want %+v", got, err, v)
	}
	if got, err := records.Decode[T](kv.Record{Key: w.Key}); err != nil || !reflect.ValueOf(got).IsZero() {
		t.Errorf("none: %+v, %v", got, err)
	}
	if _, err := records.Decode[T](kv.Record{Key: w.Key, Version: 1, Value: json.RawMessage(`[]`)}); err == nil || !strings.Contains(err.Error(), "cluster life") {
		t.Errorf("of another form: %v, want an error that names the record", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	tick := records.Claim{Stream: "manual", Tick: 1_763_684_460_123, Overlaps: true}
	for _, c := range []struct {
		key  kv.Key
		want string
	}{
		{records.ClaimsKey("j"), "claim j"},
		{records.LeaseKey("j", records.Claim{Stream: "manual", Tick: 5}), "lease j"},
		{records.LeaseKey("j", tick), "lease j manual 1763684460123"},
		{records.EntryKey("j", records.Entry{Stream: "manual", Tick: tick.Tick, Token: 1 << 50}), "entry j 8236315539876 manual 0004000000000000"},
	} {
		if got := c.key.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestEntriesAreNewestFirst(t *testing.T) {
	t.Parallel()
	var subs []string
	for _, tick := range []int64{1_763_684_460_124, 1_763_684_460_123, 999, 1, 0} {
		subs = append(subs, records.EntryKey("j", records.Entry{Stream: "schedule", Tick: tick}).Sub)
	}
	if !slices.IsSorted(subs) {
		t.Errorf("not in order: %q", subs)
	}
}

// A lease counts while its claim is open, and lasts through its last millisecond.
func TestLeaseCounts(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(ms).Add(999 * time.Microsecond) }
	open := records.Claim{Stream: "schedule", Tick: 1, Token: 9, Owner: "a", Overlaps: true}
	void, ended := open, open
	void.Void, ended.Ended = true, "OK"
	latest := func(c records.Claim) records.Claims {
		return records.Claims{Streams: map[string]records.Claim{"schedule": c}}
	}
	lease := records.Lease{Owner: "a", Until: 100}
	for _, c := range []struct {
		name   string
		lease  records.Lease
		claims records.Claims
		now    int64
		want   bool
	}{
		{"latest", lease, latest(open), 100, true},
		{"earlier", lease, records.Claims{Earlier: []records.Claim{open}}, 100, true},
		{"expired", lease, latest(open), 101, false},
		{"void", lease, latest(void), 100, false},
		{"ended", lease, latest(ended), 100, false},
		{"another's", records.Lease{Owner: "b", Until: 100}, latest(open), 100, false},
		{"nobody's", records.Lease{Until: 100}, latest(open), 100, false},
	} {
		if got := c.lease.Of(c.claims, at(c.now)).Token == 9; got != c.want {
			t.Errorf("%s: counts %t, want %t", c.name, got, c.want)
		}
		want := []kv.Key{records.LeaseKey("j", records.Claim{})}
		if c.claims.Of("a").Open() {
			want = append(want, records.LeaseKey("j", open))
		}
		if got := c.claims.LeaseKeys("j"); !slices.Equal(got, want) {
			t.Errorf("%s: leases %v, want %v", c.name, got, want)
		}
	}
}

func TestNotesAreJSON(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{"": "", `{"v":1}`: `{"v":1}`, "not JSON": `"not JSON"`} {
		if got := records.Note([]byte(note)); string(got) != want {
			t.Errorf("%q is kept as %s", note, got)
		}
	}
}

func TestFloor(t *testing.T) {
	t.Parallel()
	if got := (records.Incarnation{Since: 5}).Floor(time.Second); got != 1005 {
		t.Errorf("floor %d, want a grace later", got)
	}
	if got := (records.Incarnation{}).Floor(time.Second); got != 0 {
		t.Errorf("floor %d of a new store, want none", got)
	}
}
