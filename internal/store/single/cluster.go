// Package single is the store of a cluster on one consistent store, such as PostgreSQL: package
// store has the contract. [Cluster] puts its rooms together: claims, ledger and commands.
package single

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Cluster is a server and what is kept on it. It is a [store.Cluster].
type Cluster struct {
	Server   kv.Server
	Claims   *claims.Locker
	Ledger   *ledger.Ledger
	Roster   *ledger.Roster // and the sets of jobs
	Commands *commands.Store
	Grace    time.Duration // of another incarnation

	unreadable *unreadable.Log
	heard      *heard // by all of them
	log        *slog.Logger

	last    atomic.Pointer[seen] // the last look of a replica; nil: it has not looked yet
	watched bool                 // by Watch, which says when it is ready again
	hour    health.Hour          // by Watch
}

// Open returns the cluster that is kept on a server, without contacting it. The cluster logs what
// a replica should know of it; without a log it tells nobody. Close it at the end, which closes the
// server, too.
func Open(s kv.Server, c claims.Config, log *slog.Logger) (*Cluster, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c = c.WithDefaults() // the grace is that of ledger and declarations, too
	h, u := &heard{Server: s, timeout: c.Timeout}, new(unreadable.Log)
	u.To(log)
	entries, roster, requests := ledger.New(h, c.Grace), ledger.NewRoster(h), commands.New(h)
	entries.Unreadable, roster.Unreadable, requests.Unreadable = u, u, u
	c.Trim, c.Unreadable = entries.Trim, u
	if database, is := s.(interface{ Schema() string }); is {
		c.Schema = database.Schema()
	}
	locker, err := claims.New(h, c)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Server: s, Claims: locker, Ledger: entries, Roster: roster, Commands: requests, Grace: c.Grace,
		unreadable: u, heard: h, log: log,
	}, nil
}

// Records implements [store.Cluster].
func (c *Cluster) Records() store.Records {
	return store.Records{
		Ledger: c.Ledger, Roster: observing{c.Roster, c.Claims}, JobSets: c.Roster, Commands: c.Commands, Unreadable: c.unreadable,
	}
}

// observing is a roster whose heartbeats observe leases, too.
type observing struct {
	*ledger.Roster
	claims *claims.Locker
}

func (o observing) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	if err := o.claims.Observe(ctx); err != nil {
		return nil, err
	}
	return o.Roster.Beat(ctx, self)
}

// Locker implements [store.Membership].
func (c *Cluster) Locker() locking.Locker { return c.Claims }

// Holders implements [store.Claims].
func (c *Cluster) Holders(ctx context.Context) ([]locking.Holding, error) {
	return c.Claims.Holders(ctx)
}

// Evict implements [store.Claims].
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	return c.Claims.Evict(ctx, name, token, reason)
}

// ForgetLock implements [store.Claims].
func (c *Cluster) ForgetLock(ctx context.Context, name string) error {
	return c.Claims.Forget(ctx, name)
}

// Close closes the connections.
func (c *Cluster) Close() error {
	err := c.Claims.Close()
	c.Server.Close()
	return err
}

// Service implements [store.Health].
func (c *Cluster) Service(ctx context.Context, name string, replace bool) (string, error) {
	for {
		list, stamp, err := c.heard.Read(ctx, records.ServiceKey())
		if err != nil {
			return "", err
		}
		kept, err := records.Decode[records.Service](list[0])
		if err != nil || name == "" || kept.Name != "" && !replace {
			return kept.Name, err
		}
		o, err := c.heard.Commit(ctx, kv.Txn{
			Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: records.ServiceKey(), Version: list[0].Version}},
			Put: []kv.Write{records.Put(records.ServiceKey(), records.Service{Name: name})},
		})
		if err != nil || o.Won {
			return name, err
		}
	}
}
