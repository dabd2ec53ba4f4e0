package zookeeper

import (
	"sync"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// hints guess what is stored of records that a transaction puts without a condition: what this
// process has put last, or nothing. A wrong guess costs one transaction.
type hints struct {
	mu   sync.Mutex
	last map[kv.Key]uint64
}

// maxHints bounds the memory. Beyond it, it begins again.
const maxHints = 10_000

func (h *hints) get(t kv.Txn) map[kv.Key]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := map[kv.Key]uint64{}
	for _, w := range t.Put {
		list[w.Key] = h.last[w.Key]
	}
	return list
}

// put notes the versions of a transaction that has won.
func (h *hints) put(t kv.Txn, version uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || len(h.last) > maxHints {
		h.last = map[kv.Key]uint64{}
	}
	for _, w := range t.Put {
		h.last[w.Key] = version
	}
	for _, k := range t.Delete {
		delete(h.last, k)
	}
}
