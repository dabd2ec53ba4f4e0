package replica

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// openDashboard begins the dashboard, if there is anything to serve. A configuration that
// asks for one in a program that lacks it is refused.
func (r *Replica) openDashboard(cfg *config.Config, options Config) error {
	switch {
	case cfg.HTTP.Listen == "" && options.Listener == nil:
		return nil
	case options.Dashboard == nil:
		return cfg.Wrong("this program has no dashboard; pass new(dashboard.Server) of package replica/dashboard as replica.Config.Dashboard, or remove http.listen; probes alone go to http.probes_listen", "http", "listen")
	}
	if err := options.Dashboard.Begin(r.Shown(), cfg, options.Listener); err != nil {
		return err
	}
	r.dashboard = options.Dashboard
	return nil
}

// Shown is what a dashboard shows: see package replica/dashboard.
func (r *Replica) Shown() view.Host {
	shown := view.Host{ID: r.id, Version: r.version, NotReady: r.notReady, Settings: r.shownSettings, Logger: r.log}
	if r.backend == nil {
		return shown // while it is made
	}
	shown.Control, shown.Nodes, shown.Live = r.backend.Control(), r.backend, r.live
	shown.Control.CheckParams = func(job scheduler.JobInfo, params json.RawMessage) error {
		return cmp.Or(r.scheduler.CheckParams(job.StoredAs(), params), config.CheckPublished(job, params))
	}
	if r.metrics != nil {
		shown.Metrics, shown.UsersFailed = r.metrics.Handler(), r.metrics.UsersFailed
	}
	return shown
}

func (r *Replica) live(job string, token locking.Token) (ledger.Log, bool) {
	return r.scheduler.Live(job, token)
}

func (r *Replica) serveDashboard(ctx context.Context) error {
	if r.dashboard == nil {
		return nil
	}
	return r.dashboard.Start(ctx)
}

func (r *Replica) stopDashboard() error {
	if r.dashboard == nil {
		return nil
	}
	return r.dashboard.Stop()
}
