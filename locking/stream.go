package locking

import (
	"errors"
	"fmt"
)

// StreamSchedule is the stream of scheduled ticks. An empty Request.Stream
// means it too.
const StreamSchedule = "schedule"

// maxStream bounds the name of a stream, in bytes.
const maxStream = 32

// streamPlain is what plain locks are kept under, so no stream is called that.
const streamPlain = "lock"

// InStream returns the name of the request's stream: StreamSchedule where it
// names none.
func (r Request) InStream() string {
	if r.Stream == "" {
		return StreamSchedule
	}
	return r.Stream
}

// CheckStream reports a stream that no Locker takes: one whose name is not made
// of lower-case letters, digits and "-", and a plain lock with a stream, or beside
// others.
func (r Request) CheckStream() error {
	switch {
	case r.Beside && r.Tick.IsZero():
		return errors.New("beside others: only ticks run beside one another, a plain lock is held by one")
	case r.Stream == "":
		return nil
	case r.Tick.IsZero():
		return fmt.Errorf("stream %q: a plain lock has no ticks, so no stream of them", r.Stream)
	case r.Stream == streamPlain:
		return fmt.Errorf("stream %q: plain locks are kept under this name", r.Stream)
	case len(r.Stream) > maxStream:
		return fmt.Errorf("stream of %d bytes: use %d at most", len(r.Stream), maxStream)
	}
	for _, c := range r.Stream {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("stream %q: use lower-case letters, digits and -", r.Stream)
		}
	}
	return nil
}
