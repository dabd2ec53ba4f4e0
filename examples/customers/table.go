package main

import (
	"context"
	"maps"
	"sync"
)

// A table stands for one in a database: customers, and when each is billed.
type table struct {
	mu   sync.Mutex
	rows map[string]string
	err  error // while the database is down
}

func (t *table) all(ctx context.Context) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	return maps.Clone(t.rows), ctx.Err()
}

func (t *table) put(customer, spec string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[customer] = spec
}

func (t *table) remove(customer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, customer)
}

func (t *table) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}
