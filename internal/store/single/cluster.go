// Package single is the store of a cluster on one consistent store, such as PostgreSQL.
// Replicas use it, and commands that look at a cluster or act on it without a replica.
// [Cluster] puts its rooms together: claims, ledger and commands.
package single

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Cluster is a server and what is kept on it.
type Cluster struct {
	Server   kv.Server
	Claims   *claims.Locker
	Ledger   *ledger.Ledger
	Roster   *ledger.Roster // and the sets of jobs
	Commands *commands.Store
	// Unreadable has the records that could not be read.
	Unreadable *unreadable.Log

	Grace time.Duration // of another incarnation
	heard *heard        // by all of them
}

// Open returns the cluster that is kept on a server, without contacting it. Close it at the
// end, which closes the server, too.
func Open(s kv.Server, c claims.Config) (*Cluster, error) {
	c = c.WithDefaults() // the grace is that of ledger and declarations, too
	h := &heard{Server: s, timeout: c.Timeout}
	c.Unreadable = new(unreadable.Log)
	entries, peers, requests := ledger.New(h, c.Grace), ledger.NewRoster(h), commands.New(h)
	entries.Unreadable, peers.Unreadable, requests.Unreadable = c.Unreadable, c.Unreadable, c.Unreadable
	c.Trim = entries.Trim
	if database, is := s.(interface{ Schema() string }); is {
		c.Schema = database.Schema()
	}
	locker, err := claims.New(h, c)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Server: s, Claims: locker, Ledger: entries, Roster: peers, Commands: requests,
		Unreadable: c.Unreadable, Grace: c.Grace, heard: h,
	}, nil
}

// Configured is Open with the times of a configuration. If it fails, it closes the server.
func Configured(s kv.Server, c config.Cluster) (*Cluster, error) {
	opened, err := Open(s, claims.Config{TTL: c.TTL, Grace: c.Grace, Timeout: c.Timeout})
	if err != nil {
		s.Close()
	}
	return opened, err
}

// Stores are those of a scheduler.
func (c *Cluster) Stores() scheduler.Stores {
	return scheduler.Stores{
		Locker: c.Claims, Ledger: c.Ledger, Roster: observing{c.Roster, c.Claims}, JobSets: c.Roster, Archive: c.Ledger, Commands: c.Commands, Forget: view.ForgetJob(c),
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

// Reader reads what is kept of jobs and replicas.
func (c *Cluster) Reader() view.Reader {
	return view.Reader{Ledger: c.Ledger, Roster: observing{c.Roster, c.Claims}, Remembered: c.Roster.Remembered, JobSets: c.Roster, Commands: c.Commands}
}

// Control asks for commands for the whole cluster.
func (c *Cluster) Control() view.Control {
	return view.Control{Reader: c.Reader(), CheckParams: config.CheckPublished, Evict: view.EvictFrom(c)}
}

// Holders implements view.Locks.
func (c *Cluster) Holders(ctx context.Context) ([]locking.Holding, error) {
	return c.Claims.Holders(ctx)
}

// Evict implements view.Locks.
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	return c.Claims.Evict(ctx, name, token, reason)
}

// ForgetLock implements view.Locks.
func (c *Cluster) ForgetLock(ctx context.Context, name string) error {
	return c.Claims.Forget(ctx, name)
}

// Locks implements view.Nodes.
func (c *Cluster) Locks(ctx context.Context) ([]view.Lock, error) {
	held, err := c.Holders(ctx)
	return view.LockRows(held), err
}

// Close closes the connections.
func (c *Cluster) Close() error {
	err := c.Claims.Close()
	c.Server.Close()
	return err
}

var (
	_ view.Locks = (*Cluster)(nil)
	_ view.Nodes = (*Cluster)(nil)
)

// Service implements view.Owned.
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
