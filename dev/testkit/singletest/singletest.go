// Package singletest opens a cluster on one store in memory, for tests of what runs on any
// store.
package singletest

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
)

const (
	timeout = 100 * time.Millisecond // leases of tests are longer than four of it
	// A store refuses ticks that are ahead of its clock by half the grace. In tests the
	// clocks of replicas, but not of the store, jump ahead by days.
	grace = 30 * 24 * time.Hour
	drift = 1e-12 // clocks run alike
)

// Margin is how much shorter than its TTL a lease is for its holder.
const Margin = 2 * time.Millisecond

// New returns a cluster on a store that was declared new. It is closed when the test ends. In
// a bubble of testing/synctest the store follows the virtual time.
func New(tb testing.TB) *single.Cluster {
	tb.Helper()
	server := new(kvtest.Memory)
	c, err := single.Open(server, claims.Config{Timeout: timeout, Grace: grace, DriftFactor: drift}, nil)
	if err == nil {
		err = c.DeclareNew(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}
