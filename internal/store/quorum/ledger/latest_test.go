package ledger

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/roster"
)

// beaten counts how often a replica is decoded.
type beaten struct{ roster.Replica }

var decodings int // of this test alone

func (b *beaten) UnmarshalJSON(text []byte) error {
	decodings++
	return json.Unmarshal(text, &b.Replica)
}

// The last beat of each replica counts, and equal answers of five nodes are decoded once.
func TestLatest(t *testing.T) {
	decodings = 0
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	text := func(id string, seen time.Duration) string {
		b, err := json.Marshal(roster.Replica{ID: id, Seen: at.Add(seen)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	all := []string{text("b", 0), text("a", time.Second)}
	replies := []membership.Reply{{Node: "n1", Args: []string{text("a", 0)}}}
	for _, node := range []string{"n2", "n3", "n4", "n5"} {
		replies = append(replies, membership.Reply{Node: node, Args: all})
	}
	list := latest(nil, replies, func(b beaten) (string, time.Time) { return b.ID, b.Seen })
	got := make([]string, len(list))
	for i, b := range list {
		got[i] = b.ID + b.Seen.Sub(at).String()
	}
	if want := []string{"a1s", "b0s"}; !slices.Equal(got, want) || decodings != 3 {
		t.Errorf("of nine beats %v are known, after %d were decoded; want %v after 3", got, decodings, want)
	}
}
