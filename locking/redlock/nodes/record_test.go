package nodes_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

func TestRecordsSurviveStorage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := nodes.Record{
			Kind:    rapid.SampledFrom([]byte{nodes.KindStarted, nodes.KindFinished, nodes.KindLate, nodes.KindNotRun}).Draw(t, "kind"),
			Stream:  rapid.SampledFrom([]string{locking.StreamSchedule, "manual"}).Draw(t, "stream"),
			Tick:    time.UnixMilli(rapid.Int64Range(0, 1<<43).Draw(t, "tick")).UTC(),
			Token:   rapid.Uint64Max(1<<53-1).Draw(t, "token"),
			Attempt: rapid.IntRange(0, 1000).Draw(t, "attempt"),
			Owner:   rapid.StringMatching(`[a-z0-9]{0,32}`).Draw(t, "owner"),
			Note:    []byte(rapid.SampledFrom([]string{`{"a":"|"}`, `"x"`}).Draw(t, "note")),
		}
		if in.Kind == nodes.KindNotRun {
			in.Rank = rapid.ByteRange('a', 'z').Draw(t, "rank")
		}
		text := in.Encode()
		out, err := nodes.DecodeRecord(text)
		if err != nil || !reflect.DeepEqual(in, out) {
			t.Fatalf("%s: got %+v, %v, want %+v", text, out, err, in)
		}
	})
}

func TestRecordFormIsPinned(t *testing.T) {
	t.Parallel()
	r := nodes.Record{
		Kind: nodes.KindFinished, Stream: "schedule", Tick: time.UnixMilli(1763684460123), Token: 1 << 50, Attempt: 2,
		Owner: "ab", Note: []byte(`{"v":1}`),
	}
	want := `Fschedule|{"v":1,"t":1763684460123,"k":1125899906842624,"a":2,"o":"ab","n":{"v":1}}`
	if got := r.Encode(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Note = []byte("not JSON")
	if got, err := nodes.DecodeRecord(r.Encode()); err != nil || string(got.Note) != `"not JSON"` {
		t.Errorf("note %s, error %v", got.Note, err)
	}
}

func TestForeignRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`Sschedule|{"v":2,"t":1}`, "version 2, this release reads up to 1: upgrade"},
		{`Xschedule|{"v":1}`, "not a ledger record"},
		{`{"v":1}`, "not a ledger record"},
		{`|{"v":1}`, "not a ledger record"},
		{``, "not a ledger record"},
		{`Sschedule|nonsense`, "decoding"},
	} {
		if _, err := nodes.DecodeRecord(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}
