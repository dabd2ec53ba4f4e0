package ledger

import (
	"math/rand/v2"
	"sync"
)

// counts has the number of entries that this replica has added to each job since it trimmed
// the job's entries. The zero value is ready to use.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

// due counts one more, and reports whether there are enough to trim. The first count of a job
// is random, so jobs are trimmed as often if replicas start again and again.
func (c *counts) due(job string, enough int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	n, known := c.of[job]
	if !known && enough > 0 {
		n = rand.IntN(enough)
	}
	if n++; n >= enough {
		n = 0
	}
	c.of[job] = n
	return n == 0
}
