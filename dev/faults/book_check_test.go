package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// A grant is a lease with a claim only.
type grant struct {
	locking.Lease
	claim locking.Claim
	end   time.Time
}

func (g grant) Claim() locking.Claim       { return g.claim }
func (g grant) Deadline() time.Time        { return g.end }
func (g grant) Void(context.Context) error { return nil }
func (g grant) TryAcquire(context.Context, locking.Request) (locking.Lease, error) {
	return g, nil
}

// The book finds its violations.
func TestBook(t *testing.T) {
	t.Parallel()
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	made := func(token locking.Token, tick int64, end time.Time) grant {
		c := locking.Claim{Token: token}
		if tick > 0 {
			c.Tick = time.UnixMilli(tick)
		}
		return grant{claim: c, end: end}
	}
	for name, tt := range map[string]struct {
		grants []grant
		void   bool
		want   string // in the only violation; none if empty
	}{
		"in order":          {grants: []grant{made(1, 10, earlier), made(2, 20, earlier), made(3, 0, earlier), made(4, 0, later)}},
		"falling":           {grants: []grant{made(2, 10, earlier), made(1, 20, earlier)}, want: "token 1 asked for after 2"},
		"tick twice":        {grants: []grant{made(1, 10, earlier), made(2, 10, earlier)}, want: "one tick twice"},
		"tick void":         {grants: []grant{made(1, 10, earlier), made(2, 10, earlier)}, void: true},
		"two leases":        {grants: []grant{made(1, 10, later), made(2, 20, later)}, want: "two leases at once"},
		"two, one was void": {grants: []grant{made(1, 10, later), made(2, 20, later)}, void: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			for _, g := range tt.grants {
				_, _ = b.try(t, g, locking.Request{}, tt.void) // never fails
			}
			got := b.broken()
			if len(got) != one(tt.want != "") || len(got) == 1 && !strings.Contains(got[0], tt.want) {
				t.Errorf("violations %q, want %q", got, tt.want)
			}
		})
	}
	b := newBook()
	for range 2 { // at the same time: neither was asked for after the other
		b.granted(made(1, 0, earlier), 0, false)
	}
	if got := b.broken(); len(got) != 1 || !strings.Contains(got[0], "one token twice") {
		t.Errorf("violations %q of a token granted twice", got)
	}
}
