// Package view has the rows of all listings, a [Reader] that reads them from the
// nodes, and a [Control] that checks and requests commands. The command line, the API and
// the dashboard share it, so they agree.
//
// Rows are a contract: scripts read their JSON. Every field is always present, null if
// it has no value. Golden files pin them.
//
// Reading needs no replica.
//
// The cost of a page depends on its size, not on the length of the history: see
// [Reader.Recent].
package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Reader reads listings. It may be used by many goroutines.
type Reader struct {
	Records store.Records
	Health  store.Health
	Claims  store.Claims
	// Live, if set, returns a run that goes on in this process, and what it has logged so far.
	Live func(job string, token locking.Token) (ledger.Log, bool)
	// LastHour, if set, returns what this process has known of the nodes, without asking them.
	LastHour func(now time.Time) []health.Minute
	// Served, if set, returns the schedule of a published job whose schedule was not
	// published in full.
	Served func(roster.JobInfo) (schedule.Schedule, bool)
	// Cache, if set, caches the directory, and Standings how jobs stand.
	Cache     *DirectoryCache
	Standings *Standings
}

// schedule returns the schedule of a published job.
func (r Reader) schedule(j roster.JobInfo) (schedule.Schedule, bool) {
	if s, err := j.Ticks(); err == nil {
		return s, true
	}
	if r.Served == nil {
		return nil, false
	}
	return r.Served(j)
}

// ErrNotFound is wrapped by errors about things that do not exist.
var ErrNotFound = errors.New("not found")

// A Directory knows the jobs of a cluster by their current and former names. The nodes
// know a job by its key: its first name.
type Directory struct {
	Versions []roster.Version
	Keys     []string                  // of all jobs, sorted by name
	Last     map[string]roster.Version // by key: the version published last

	keyOf map[string]string // by name
}

// Directory reads what the replicas have published, or returns the cached directory.
// Callers must not change it.
func (r Reader) Directory(ctx context.Context) (Directory, error) {
	return r.Cache.get(ctx, func(ctx context.Context) (Directory, error) {
		published, err := r.Records.Roster.Jobs(ctx)
		if err != nil {
			return Directory{}, err
		}
		live, err := r.Records.Roster.Replicas(ctx)
		if err != nil {
			return Directory{}, err
		}
		versions, err := served.Versions(published, live, func(hash string) (roster.JobSet, error) { return r.storedSet(ctx, hash) })
		return newDirectory(versions), err
	})
}

func newDirectory(versions []roster.Version) Directory {
	d := Directory{Versions: versions, Last: map[string]roster.Version{}, keyOf: map[string]string{}}
	for _, v := range versions {
		key := v.StoredAs()
		if last, ok := d.Last[key]; !ok || v.Published.After(last.Published) {
			if !ok {
				d.Keys = append(d.Keys, key)
			}
			d.Last[key] = v
		}
		d.keyOf[v.Name] = key
	}
	return d
}

// Key returns the key of the job that is or was called name.
func (d Directory) Key(name string) string {
	if key, ok := d.keyOf[name]; ok {
		return key
	}
	return name
}

// of returns the versions of the named jobs, or of all jobs without names.
func (d Directory) of(names []string) []roster.Version {
	if len(names) == 0 {
		return d.Versions
	}
	keys := map[string]bool{}
	for _, name := range names {
		keys[d.Key(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(d.Versions), func(v roster.Version) bool { return !keys[v.StoredAs()] })
}

// named sets the entry's job to its current name.
func (d Directory) named(e ledger.Entry) ledger.Entry {
	if v, ok := d.Last[e.Job]; ok {
		e.Job = v.Name
	}
	return e
}

// namedAll sets the job of each entry to its current name.
func (d Directory) namedAll(entries []ledger.Entry) []ledger.Entry {
	for i, e := range entries {
		entries[i] = d.named(e)
	}
	return entries
}

// Served reports whether a live replica serves the job with the key.
func (d Directory) Served(key string) bool {
	return slices.ContainsFunc(d.Versions, func(v roster.Version) bool { return v.Live && v.StoredAs() == key })
}

// Require returns ErrNotFound unless the directory has a job with the key.
func (d Directory) Require(key string) error {
	if _, ok := d.Last[key]; ok {
		return nil
	}
	advice := "quorate jobs lists them"
	if near := decode.Nearest(key, slices.Sorted(maps.Keys(d.keyOf))); near != "" {
		advice = "did you mean " + near + "? " + advice
	}
	return fmt.Errorf("job %q %w in this cluster; %s", key, ErrNotFound, advice)
}

// rowsOf converts a list to rows. It passes on the error of reading the list.
func rowsOf[T, R any](list []T, err error, row func(T) R) ([]R, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]R, len(list))
	for i, one := range list {
		rows[i] = row(one)
	}
	return rows, nil
}

// A DirectoryCache caches the directory for servers. Concurrent readers share one read.
type DirectoryCache struct {
	// For is how long a directory is kept after its read began.
	For time.Duration

	mu   sync.Mutex
	last *reading
	sets map[string]roster.JobSet // by hash, under which a set never changes
}

// mostSets bounds the sets of jobs that are kept.
const mostSets = 4

// set returns a kept set of jobs, or reads it.
func (s *DirectoryCache) set(hash string, read func(hash string) (roster.JobSet, error)) (roster.JobSet, error) {
	if s == nil {
		return read(hash)
	}
	s.mu.Lock()
	set, kept := s.sets[hash]
	s.mu.Unlock()
	if kept {
		return set, nil
	}
	set, err := read(hash)
	if err != nil {
		return set, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil || len(s.sets) >= mostSets {
		s.sets = map[string]roster.JobSet{}
	}
	s.sets[hash] = set
	return set, nil
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
		s.mu.Lock()
		r, mine := s.last, false
		if r == nil || time.Since(r.began) >= s.For {
			r, mine = &reading{began: time.Now(), done: make(chan struct{})}, true
			s.last = r
		}
		s.mu.Unlock()
		if mine {
			r.d, r.err = read(ctx)
			s.mu.Lock()
			if r.err != nil && s.last == r { // a failed reading is not cached
				s.last = nil
			}
			s.mu.Unlock()
			close(r.done)
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

// A Host is what a replica offers to the parts of its program that show or count it.
type Host struct {
	ID, Version string
	Namespace   string          // of the cluster; "" if it is the usual one
	Jobs        []string        // the names of those that it serves at first
	NotReady    func() []string // why it takes no ticks; nothing if it does

	Control Control
	// Settings returns the configuration in effect, without secrets, and what says where the setting at
	// a path comes from, or "". Nil: it is not shown.
	Settings func() (shown any, source func(path ...string) string)
	Usual    any // the configuration that an empty file stands for

	Metrics     http.Handler // nil: nobody counts
	UsersFailed func(bool)   // tells the metrics; nil: nobody counts
	Logger      *slog.Logger
}
