package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A Config says which nodes grant locks. Either Nodes or Clients is required.
type Config struct {
	// Nodes are the URLs of 1, 3, 5 or 7 independent Redis masters, such as
	// redis://user:password@host:6379, or rediss:// for TLS.
	Nodes []string
	// Clients are nodes given by the clients that the program already has. Their
	// addresses, credentials and dialers are used, but not their connections: requests
	// for locks need deadlines of their own. A client of NewFailoverClient or
	// NewClusterClient is one node, alone: another server may take its place.
	Clients []redis.UniversalClient
	// Copies is how many replicas the server of a single node has. A claim counts when all
	// of them have it, so any of them may take its place at any time.
	Copies int
	// New asserts that no node has ever granted a lock in the namespace, so they vote
	// at once. Otherwise blank nodes vote after Grace, since they may have lost their
	// memory. New has no effect on nodes that have served before.
	New bool

	// Namespace is the prefix of every key, in braces. Default: "quorate".
	Namespace string
	// Username and Password are for nodes whose URL names none.
	Username, Password string
	// TLS is for nodes with a rediss:// URL. The server name defaults to the URL's
	// host.
	TLS *tls.Config
	// Timeout bounds each call to a node. It must be below TTL/4. Default: 200 ms.
	Timeout time.Duration
	// TTL is the length of a lease. It must be below Grace. Default: locking.DefaultTTL.
	TTL time.Duration
	// Grace is how long a restarted node abstains. The nodes store it, and every
	// program that uses them must set the same. Default: 20 s.
	Grace time.Duration
	// Durable asserts that no node forgets what it accepted: appendfsync always, and no
	// failover that loses anything. A restarted node then votes at once.
	Durable bool
	// Embedded allows nodes inside this process, for development and tests.
	Embedded bool

	Options
}

// Open returns a Locker over the nodes of cfg once a quorum of them votes. It watches
// the nodes until Close, which the caller must call. It waits for nodes that abstain,
// but not for nodes that do not answer: then the error matches locking.ErrNoQuorum.
func Open(ctx context.Context, cfg Config) (*Locker, error) {
	list := membership.Config{
		Namespace: cfg.Namespace, Username: cfg.Username, Password: cfg.Password, TLS: cfg.TLS,
		Timeout: cfg.Timeout, TTL: cfg.TTL, Grace: cfg.Grace, Durable: cfg.Durable, Copies: cfg.Copies, Embedded: cfg.Embedded,
	}
	for _, url := range cfg.Nodes {
		list.Nodes = append(list.Nodes, membership.NodeConfig{URL: url})
	}
	for _, client := range cfg.Clients {
		list.Nodes = append(list.Nodes, membership.NodeConfig{Client: client})
	}
	set, err := membership.Open(list)
	if err != nil {
		return nil, err
	}
	l, err := New(set, cfg.Options)
	if err == nil {
		err = join(ctx, set, cfg.New)
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { _ = set.Run(watching) }) // Run only returns once stopped
	l.disconnect = sync.OnceValue(func() error {
		stop()
		watch.Wait()
		return set.Close()
	})
	return l, nil
}

// join makes the nodes members, and waits until a quorum votes.
func join(ctx context.Context, set *membership.Set, isNew bool) error {
	err := locking.ErrRefused
	if isNew {
		err = set.Init(ctx, false)
	}
	if errors.Is(err, locking.ErrRefused) { // the nodes have served
		err = set.Join(ctx)
	}
	if err != nil {
		return err
	}
	for {
		at, known := set.Vouching()
		if known && at.IsZero() {
			return nil
		}
		timer := time.NewTimer(max(time.Until(at), set.Timeout()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, before %s: %w", locking.ErrUnvouched, at.UTC().Format(time.RFC3339), ctx.Err())
		}
	}
}
