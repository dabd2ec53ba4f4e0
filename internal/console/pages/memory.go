package pages

import (
	"net/http"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
)

// mostKept bounds the results that are kept for outages.
const mostKept = 200

// A memory keeps the last results, to show them while no quorum answers.
type memory struct {
	mu   sync.Mutex
	kept map[string]known
}

// A known is a result with its time.
type known struct {
	data any
	at   time.Time
}

func (m *memory) keep(key string, data any, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]known{}
	}
	if _, ok := m.kept[key]; !ok && len(m.kept) >= mostKept {
		m.dropOldest()
	}
	m.kept[key] = known{data, now}
}

func (m *memory) dropOldest() {
	var oldest string
	for key, k := range m.kept {
		if o, ok := m.kept[oldest]; !ok || k.at.Before(o.at) {
			oldest = key
		}
	}
	delete(m.kept, oldest)
}

func (m *memory) find(key string) (data any, at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.kept[key]
	return k.data, k.at, ok
}

// A freshness records which data of a page are from an earlier time.
type freshness struct {
	mu    sync.Mutex
	Stale time.Time // of the oldest data, if it could not be read now; else zero
	Why   string    // why rows are old, or ""
}

// outdated records that data on the page is from an earlier time.
func (f *freshness) outdated(at time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Stale.IsZero() || at.Before(f.Stale) {
		f.Stale = at
	}
	f.Why = err.Error()
}

// lastKnown returns the result of read or, while no quorum answers, the last result for
// the key.
func lastKnown[T any](v *visit, key string, read func() (T, error)) (T, error) {
	got, err := read()
	if err == nil {
		v.memory.keep(key, got, v.Now)
		return got, nil
	}
	if p := problem.Of(err, v.OneStore()); p == nil || p.Status < http.StatusInternalServerError {
		return got, err
	}
	kept, at, ok := v.memory.find(key)
	old, fits := kept.(T)
	if !ok || !fits {
		return got, err
	}
	v.outdated(at, err)
	return old, nil
}
