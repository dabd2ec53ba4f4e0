package replica

import (
	"context"
	"net"
	"net/http"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// The parts below are what a program links only if it passes them in its Config.

// A Store keeps everything, in place of Redis nodes: new(postgres.Store) of package
// stores/postgres.
type Store interface {
	// Section is that of the store in a configuration file: postgres, etcd or zookeeper.
	Section() string
	// Address is that of the store, if the program sets it itself: the url of its section, or
	// its endpoints or servers, with commas between them.
	Address() string
	// Open opens the store without contacting it. The caller closes it.
	Open(ctx context.Context, cluster config.Cluster) (kv.Server, error)
}

// Metrics counts what the replica does: new(metrics.Metrics) of package
// scheduler/metrics, which is a prometheus.Collector, too.
type Metrics interface {
	Begin(r view.Host, maxJobs int, nodes func() *membership.Set)
	Observe(e scheduler.Event)
	NodesObserver() membership.Observer
	UsersFailed(failed bool)
	Handler() http.Handler // GET /metrics
}

// Traces makes spans of what the replica runs: traces.New of package scheduler/traces.
type Traces interface {
	Begin(replica string)
	Observe(e scheduler.Event)
	Middleware(next jobs.Handler) jobs.Handler
}

// Dashboard serves the API and the pages on http.listen: new(dashboard.Server) of
// package replica/dashboard.
type Dashboard interface {
	Begin(r view.Host, cfg *config.Config, listener net.Listener) error
	Observe(e scheduler.Event)
	Start(ctx context.Context) error
	Stop() error
}
