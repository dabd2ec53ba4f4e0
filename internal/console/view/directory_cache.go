package view

import (
	"context"
	"sync"
	"time"
)

// A DirectoryCache caches the directory for servers. Concurrent readers share one read.
type DirectoryCache struct {
	// For is how long a directory is kept after its read began.
	For time.Duration

	mu   sync.Mutex
	last *reading
}

// A reading is a read of the directory, finished or not.
type reading struct {
	began time.Time
	done  chan struct{} // closed when d and err are set
	d     Directory
	err   error
}

// Drop makes the next reader read again. A nil DirectoryCache does not cache.
func (s *DirectoryCache) Drop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
}

// get returns the cached directory, waits for a read under way, or reads.
func (s *DirectoryCache) get(ctx context.Context, read func(context.Context) (Directory, error)) (Directory, error) {
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
		// The reader may have failed because its own context ended: try again.
	}
}

// join returns the last reading unless it is too old, or a new one for the caller to
// finish.
func (s *DirectoryCache) join() (r *reading, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.last.began) < s.For {
		return s.last, false
	}
	s.last = &reading{began: time.Now(), done: make(chan struct{})}
	return s.last, true
}

// finish wakes the waiting readers. A failed reading is not cached.
func (s *DirectoryCache) finish(r *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err != nil && s.last == r {
		s.last = nil
	}
	close(r.done)
}
