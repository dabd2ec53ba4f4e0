package pages

import (
	"sync"
	"time"
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
