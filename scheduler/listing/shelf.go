package listing

import (
	"context"
	"sync"
	"time"
)

// A Shelf keeps the directory for a short while, for servers that are asked for many
// listings: it is read once for all who ask meanwhile. It may be used by many
// goroutines.
type Shelf struct {
	// For is how long a directory is kept after it began to be read.
	For time.Duration

	mu   sync.Mutex
	last *reading
}

// A reading of the directory, which may go on.
type reading struct {
	began time.Time
	done  chan struct{} // closed when what follows is set
	d     Directory
	err   error
}

// Drop makes the next reader read anew. A nil Shelf keeps nothing.
func (s *Shelf) Drop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
}

// get returns what is kept, or waits for who reads it already, or reads.
func (s *Shelf) get(ctx context.Context, read func(context.Context) (Directory, error)) (Directory, error) {
	if s == nil {
		return read(ctx)
	}
	for {
		r, mine := s.join()
		if mine {
			r.d, r.err = read(ctx)
			s.finish(r)
			return r.d, r.err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return Directory{}, context.Cause(ctx)
		}
		if r.err == nil {
			return r.d, nil
		}
		// Who read it may have given up: what it was told is not for others.
	}
}

// join returns the last reading if it is not too old, or a new one, which is to be
// done.
func (s *Shelf) join() (r *reading, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.last.began) < s.For {
		return s.last, false
	}
	s.last = &reading{began: time.Now(), done: make(chan struct{})}
	return s.last, true
}

// finish lets others have what was read. What failed is not kept.
func (s *Shelf) finish(r *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err != nil && s.last == r {
		s.last = nil
	}
	close(r.done)
}
