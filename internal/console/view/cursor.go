package view

import (
	"cmp"
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Cursor is a position in a listing: right after one entry. The zero Cursor is the
// beginning.
type Cursor struct {
	at     time.Time
	job    string
	token  locking.Token
	stream string
}

// ErrCursor is returned for a text that is not a Cursor.
var ErrCursor = errors.New("not a cursor that a listing has returned")

// behind returns the position right after an entry.
func behind(e ledger.Entry) Cursor {
	return Cursor{e.OrderKey(), e.Job, e.Token, e.Stream}
}

// Until returns the position before all entries with an order key before t.
func Until(t time.Time) Cursor {
	if t.IsZero() {
		return Cursor{}
	}
	last := t.Truncate(time.Millisecond)
	if last.Equal(t) {
		last = last.Add(-time.Millisecond) // a partial millisecond is included
	}
	return Cursor{at: last, token: math.MaxUint64}
}

// IsZero reports whether the cursor is the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// reaches reports whether an entry comes after the cursor.
func (c Cursor) reaches(e ledger.Entry) bool {
	return c.IsZero() || newestFirst(ledger.Entry{Tick: c.at, Job: c.job, Token: c.token, Stream: c.stream}, e) < 0
}

// passed reports whether the cursor is past all entries of a job at its own instant.
func (c Cursor) passed(job string) bool { return !c.IsZero() && job < c.job }

// before is the Query.Before that includes every entry after the cursor.
func (c Cursor) before() time.Time {
	if c.IsZero() {
		return time.Time{}
	}
	return c.at.Add(time.Millisecond)
}

// String encodes the cursor for ParseCursor; "" for the zero one.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	text := strings.Join([]string{strconv.FormatInt(c.at.UnixMilli(), 10), strconv.FormatUint(uint64(c.token), 10), c.stream, c.job}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseCursor decodes what String returned.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Cursor{}, ErrCursor
	}
	parts := strings.SplitN(string(raw), "|", 4)
	if len(parts) != 4 {
		return Cursor{}, ErrCursor
	}
	at, atErr := strconv.ParseInt(parts[0], 10, 64)
	token, err := strconv.ParseUint(parts[1], 10, 64)
	if errors.Join(atErr, err) != nil {
		return Cursor{}, ErrCursor
	}
	return Cursor{time.UnixMilli(at).UTC(), parts[3], locking.Token(token), parts[2]}, nil
}

// newestFirst orders entries of several jobs.
func newestFirst(x, y ledger.Entry) int {
	return cmp.Or(y.OrderKey().Compare(x.OrderKey()), cmp.Compare(x.Job, y.Job), cmp.Compare(y.Token, x.Token), cmp.Compare(x.Stream, y.Stream))
}
