package replica

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

// A backend is the store that a replica stands on, and how it comes to it.
type backend interface {
	// Stores are those of the scheduler.
	Stores() scheduler.Stores
	Control() view.Control
	view.Nodes
	view.Owned
	ClockOffset() (time.Duration, bool)

	// join waits until the store answers, refuses, or ctx ends, which is no error.
	join(ctx context.Context) error
	// watch looks after the store until ctx ends.
	watch(ctx context.Context)
	// notReady says why no tick can run; "" if one can.
	notReady() string
	close() error
	// members are the Redis nodes; nil for another store.
	members() *membership.Set
}
