package scripts_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

func TestRecordsSurviveStorage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := scripts.Record{
			Kind:    rapid.SampledFrom([]byte{scripts.Started, scripts.Finished, scripts.Late, scripts.NotRun}).Draw(t, "kind"),
			Stream:  rapid.SampledFrom([]string{locking.StreamSchedule, "manual"}).Draw(t, "stream"),
			Tick:    time.UnixMilli(rapid.Int64Range(0, 1<<43).Draw(t, "tick")).UTC(),
			Token:   rapid.Uint64Max(1<<53-1).Draw(t, "token"),
			Attempt: rapid.IntRange(0, 1000).Draw(t, "attempt"),
			Owner:   rapid.StringMatching(`[a-z0-9]{0,32}`).Draw(t, "owner"),
			Note:    []byte(rapid.SampledFrom([]string{`{"a":"|"}`, `"x"`}).Draw(t, "note")),
		}
		if in.Kind == scripts.Started {
			in.Holder = rapid.String().Draw(t, "holder")
			in.Tick = in.Tick.Add(time.Millisecond) // that of 0 ms is a plain lock's
		}
		if in.Kind == scripts.NotRun {
			in.Rank = rapid.ByteRange('a', 'z').Draw(t, "rank")
		}
		text := in.Encode()
		out, err := scripts.Decode(text)
		if err != nil || !reflect.DeepEqual(in, out) {
			t.Fatalf("%s: got %+v, %v, want %+v", text, out, err, in)
		}
	})
}

func TestRecordFormIsPinned(t *testing.T) {
	t.Parallel()
	r := scripts.Record{
		Kind: scripts.Finished, Stream: "schedule", Tick: time.UnixMilli(1763684460123).UTC(), Token: 1 << 50, Attempt: 2,
		Owner: "ab", Note: []byte(`{"v":1}`),
	}
	want := `Fschedule|{"v":1,"t":1763684460123,"k":1125899906842624,"a":2,"o":"ab","n":{"v":1}}`
	if got := r.Encode(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := scripts.Decode("R" + want[1:]); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("of a run whose lock had gone: %+v, %v", got, err)
	}
	r.Note = []byte("not JSON")
	if got, err := scripts.Decode(r.Encode()); err != nil || string(got.Note) != `"not JSON"` {
		t.Errorf("note %s, error %v", got.Note, err)
	}
}

func TestForeignRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`Fschedule|{"v":2,"t":1}`, "version 2, this release reads up to 1: upgrade"},
		{`Xschedule|{"v":1}`, "not a ledger record"},
		{`{"v":1}`, "not a ledger record"},
		{`|{"v":1}`, "not a ledger record"},
		{``, "not a ledger record"},
		{`Fschedule|nonsense`, "decoding"},
		{`Sschedule|{"v":1}`, "decoding a ledger record: not a packed claim"},
		{`S1 2 v 0 x 0 schedule a|`, "unpacking a claim"},
		{`S1 2 v 0 1 0 schedule %|`, "unpacking a claim"},
	} {
		if _, err := scripts.Decode(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestClaimsSurviveStorage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := scripts.Claim{
			Tick: rapid.Int64Range(0, 1<<43).Draw(t, "tick"), Token: rapid.Uint64Max(1<<53-1).Draw(t, "token"),
			Owner:   rapid.StringMatching(`[a-z0-9]{1,32}`).Draw(t, "owner"),
			Mode:    rapid.SampledFrom([]locking.Mode{locking.AtMostOnce, locking.AtLeastOnce}).Draw(t, "mode"),
			Attempt: rapid.IntRange(0, 1000).Draw(t, "attempt"), Overlaps: rapid.Bool().Draw(t, "overlaps"),
			Stream: rapid.StringMatching(`[a-z0-9-]{1,32}`).Draw(t, "stream"), Holder: rapid.String().Draw(t, "holder"),
			Note: rapid.String().Draw(t, "note"),
		}
		text := in.Pack()
		if out, err := scripts.Unpack(text); err != nil || out != in {
			t.Fatalf("%s: got %+v, %v, want %+v", text, out, err, in)
		}
	})
}

func TestClaimFormIsPinned(t *testing.T) {
	t.Parallel()
	c := scripts.Claim{
		Tick: 1763684460123, Token: 1 << 50, Owner: "ab", Mode: locking.AtLeastOnce, Attempt: 2, Overlaps: true,
		Stream: "schedule", Holder: "host|1 2", Note: `{"v":1}`,
	}
	want := `1763684460123 1125899906842624 ab 1 2 1 schedule host%7C1+2|{"v":1}`
	if got := c.Pack(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := scripts.Decode("S" + want); err != nil || got.Kind != scripts.Started || got.Holder != "host|1 2" || got.Owner != "ab" ||
		got.Token != 1<<50 || got.Attempt != 2 || got.Tick.UnixMilli() != 1763684460123 || string(got.Note) != `{"v":1}` {
		t.Errorf("the record of its start: %+v, %v", got, err)
	}
	plain := scripts.Claim{Token: 1, Owner: "ab", Attempt: 1, Stream: "lock"}
	if got := plain.Pack(); got != "- 1 ab 0 1 0 lock |" {
		t.Errorf("a plain lock's: %s", got)
	}
}
