// Package store is the contract of a cluster's store: what replicas, the console and the
// command line ask of it. Package quorum keeps a cluster on Redis nodes, package single on
// one consistent store, such as PostgreSQL. Neither knows listings or the configuration.
//
// [Copy] copies a store to another one while no replica runs.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Cluster is the store of one namespace. Opening it contacts nothing. If too little of it
// answers, errors match [locking.ErrNoQuorum].
type Cluster interface {
	Records() Records
	Claims
	Health
	Membership
	// Side returns the store, which is of the namespace, as one side of a copy.
	Side(namespace string) Side
	// Close closes the connections.
	Close() error
}

// Records are what a store keeps of jobs, replicas and commands.
type Records struct {
	Ledger   Ledger
	Roster   Roster
	JobSets  roster.JobSets
	Commands Commands
	// Unreadable has the records that could not be read.
	Unreadable *unreadable.Log
}

// A Ledger has the ticks and the logs of runs.
type Ledger interface {
	ledger.Store
	ledger.Archive
	ledger.Skimmer
}

// A Roster has the replicas and the published jobs.
type Roster interface {
	roster.Roster
	// Remembered lists the replicas seen lately, and the lost ones.
	Remembered(ctx context.Context) ([]roster.Replica, error)
	// Left lists the replicas that left in the last 24 hours; see roster.Left.
	Left(ctx context.Context) ([]roster.Replica, error)
}

// Commands has the commands and their audit log.
type Commands interface {
	commands.Store
	commands.Notebook
}

// Claims are the claims and leases of all locks, as an operator sees them.
type Claims interface {
	// Holders lists who holds which lock.
	Holders(ctx context.Context) ([]locking.Holding, error)
	// Evict takes the lock of a job, or a plain one, from its holder. Token 0 stands for
	// the only holder. The errors are locking.ErrNotHeld, ErrSeveral and ErrReason.
	Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error)
	// ForgetLock drops what is stored under the name of a job or of a plain lock. The error
	// is locking.ErrTaken while it is held, and locking.ErrUnknownName if nothing is stored.
	ForgetLock(ctx context.Context, name string) error
}

// Health is how the store is. Its methods ask all nodes, except OneStore.
type Health interface {
	// OneStore reports whether the cluster has one store and no votes: PostgreSQL, for
	// example, or one Redis.
	OneStore() bool
	// Inspect examines each node, or the only store.
	Inspect(ctx context.Context) []health.Node
	// Check judges them, and the machine that it runs on. It takes longer.
	Check(ctx context.Context) health.Checkup
	// Service returns the name of the service that the store keeps; "" if there is none. A
	// name is kept if there is none, with replace in place of another.
	Service(ctx context.Context, name string, replace bool) (kept string, err error)
}

// Membership is the part of a replica, which joins the store before it claims ticks.
type Membership interface {
	Locker() locking.Locker
	// Join waits until the store answers, refuses, or ctx ends, which is no error.
	Join(ctx context.Context) error
	// Watch looks after the store until ctx ends.
	Watch(ctx context.Context)
	// NotReady says why no tick can run; "" if one can. It asks nothing of the store.
	NotReady() string
	// LastHour is what Watch has known of the nodes, or of the store, in the last hour.
	LastHour(now time.Time) []health.Minute
	// ClockOffset is how far the local clock is ahead of that of the store; false if unknown.
	ClockOffset() (time.Duration, bool)
}

// ForScheduler returns the stores of a scheduler.
func ForScheduler(c Cluster) scheduler.Stores {
	kept := c.Records()
	return scheduler.Stores{
		Locker: c.Locker(), Ledger: kept.Ledger, Roster: kept.Roster, JobSets: kept.JobSets, Archive: kept.Ledger, Commands: kept.Commands,
		Forget: func(ctx context.Context, key string) error {
			if err := Forget(ctx, c, key); !errors.Is(err, locking.ErrUnknownName) {
				return err
			}
			return nil
		},
	}
}

// Forget drops what is stored of a job, with the slots of its backfills, or of a plain
// lock. The error is that of Claims.ForgetLock.
func Forget(ctx context.Context, c Claims, key string) error {
	err := c.ForgetLock(ctx, key)
	if err != nil && !errors.Is(err, locking.ErrUnknownName) {
		return err
	}
	names := scheduler.BackfillSlots(key)
	errs := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names { // all at once, so that they share requests
		asking.Go(func() {
			if err := c.ForgetLock(ctx, name); !errors.Is(err, locking.ErrUnknownName) {
				errs[i] = err
			}
		})
	}
	asking.Wait()
	return cmp.Or(errors.Join(errs...), err)
}

// Pauses between tries to reach a store.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Persist repeats try until it succeeds, its error is final, or ctx ends, which is no error. If the
// first try fails, it logs the warning.
func Persist(ctx context.Context, log *slog.Logger, warning string, final func(error) bool, try func(context.Context) error) error {
	var wait time.Duration
	for pause := firstPause; retry.Sleep(ctx, wait); pause = min(2*pause, maxPause) {
		err := try(ctx)
		if err == nil || final(err) {
			return err
		}
		if pause == firstPause && ctx.Err() == nil {
			log.Warn(warning, "why", OneLine(err))
		}
		wait = pause/2 + rand.N(pause)
	}
	return nil
}

// OneLine writes the lines of an error in one.
func OneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// ErrOtherService is what an OtherServiceError matches.
var ErrOtherService = errors.New("the store belongs to another service")

// An OtherServiceError is why a replica does not start: its store belongs to another service.
type OtherServiceError struct {
	Namespace string
	Kept      string // the service that the store belongs to
	Own       string // that of the replica; empty: it names none
}

// Error says what to do.
func (e *OtherServiceError) Error() string {
	own := fmt.Sprintf("this replica is of service %q", e.Own)
	if e.Own == "" {
		own = "this replica names no service"
	}
	return fmt.Sprintf("namespace %s of the store belongs to service %q, and %s: give another service a namespace of its own, "+
		"or set service: %s if it is the same one; if the service was renamed, run: quorate store init --service NAME", e.Namespace, e.Kept, own, e.Kept)
}

// Unwrap returns ErrOtherService.
func (e *OtherServiceError) Unwrap() error { return ErrOtherService }

// Belong checks that the store belongs to the service own, and keeps that name if it has none. An
// empty one is never kept.
func Belong(ctx context.Context, h Health, namespace, own string) error {
	kept, err := h.Service(ctx, "", false)
	if err == nil && own != "" && (kept == "" || kept == own) { // nodes may lack it
		kept, err = h.Service(ctx, own, false)
	}
	if err == nil && kept != own {
		err = &OtherServiceError{namespace, kept, own}
	}
	return err
}
