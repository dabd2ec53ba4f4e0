package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Times of the probes' server. Kubelets give up after a second by default.
const (
	probeTimeout  = 5 * time.Second
	probeShutdown = time.Second
)

// maxHeaderBytes bounds the header of a request.
const maxHeaderBytes = 32 << 10

// probes serves /healthz, /readyz and /metrics.
type probes struct {
	listener net.Listener // nil if the configuration wants no probes
	server   *http.Server
	served   chan error
}

// startProbes listens on addr, if any. It never speaks to Redis: reasons is
// what the replica knows already, and so are its metrics, if it has any.
func startProbes(ctx context.Context, addr string, log *slog.Logger, reasons func() []string, m Metrics) (*probes, error) {
	if addr == "" {
		return &probes{}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http.probes_listen: cannot listen on %s: %w; choose a free port, or 0 for any", addr, err)
	}
	p := &probes{
		listener: listener,
		server: &http.Server{
			Handler: probeHandler(reasons, m), ReadTimeout: probeTimeout, WriteTimeout: probeTimeout,
			MaxHeaderBytes: maxHeaderBytes,
			ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		served: make(chan error, 1),
	}
	go func() { p.served <- p.server.Serve(listener) }()
	what := "serving /healthz and /readyz"
	if m != nil {
		what = "serving /healthz, /readyz and /metrics"
	}
	log.Info(what, "address", listener.Addr().String())
	return p, nil
}

// stop ends the server and waits for it.
func (p *probes) stop() error {
	if p.listener == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeShutdown)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close() // a client that does not finish its request
	}
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("serving the probes: %w", err)
	}
	return nil
}

// probeHandler answers /healthz with 200 as long as the process serves at all,
// and /readyz with 503 and one line per reason while it takes no ticks.
func probeHandler(reasons func() []string, m Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { respondReady(w, reasons()) })
	if m != nil {
		mux.Handle("GET /metrics", m.Handler())
	}
	return mux
}

// ServeReady answers as /readyz of http.probes_listen does: 200 while the replica takes ticks, else 503
// with the texts of NotReady, one a line. It is an [http.HandlerFunc] for the mux of a service, which may
// serve before Run is called and until it has returned. The texts may name hosts: serve it to your probes
// and your team, and not to the public.
func (r *Replica) ServeReady(w http.ResponseWriter, _ *http.Request) { respondReady(w, r.NotReady()) }

func respondReady(w http.ResponseWriter, notReady []string) {
	if len(notReady) > 0 {
		respond(w, http.StatusServiceUnavailable, strings.Join(notReady, "\n"))
		return
	}
	respond(w, http.StatusOK, "ok")
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // a prober that went away
}

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
	shown := view.Host{ID: r.id, Version: r.version, NotReady: r.NotReady, Settings: r.shownSettings, Usual: config.Default().Shown(), Logger: r.log}
	if r.store == nil {
		return shown // while it is made
	}
	shown.Control = view.ControlOf(r.store)
	if name := r.settingsShown.Load().Namespace; name != config.Default().Namespace {
		shown.Namespace = name
	}
	shown.Control.Live = func(job string, token locking.Token) (ledger.Log, bool) { return r.scheduler.Live(job, token) }
	shown.Control.CheckParams = func(job roster.JobInfo, params json.RawMessage) error {
		return cmp.Or(r.scheduler.CheckParams(job.StoredAs(), params), config.CheckPublished(job, params))
	}
	if r.metrics != nil {
		shown.Metrics, shown.UsersFailed = r.metrics.Handler(), r.metrics.UsersFailed
	}
	return shown
}

// beginMetrics begins what counts, if anything does.
func (r *Replica) beginMetrics(cfg *config.Config, list []jobs.Job, m Metrics) {
	if m == nil {
		return
	}
	most := cmp.Or(cfg.Metrics.MaxJobs, -1)
	about := r.Shown()
	for _, job := range list {
		about.Jobs = append(about.Jobs, job.Name)
	}
	var nodes func() *membership.Set
	if cfg.Section() == config.SectionRedis {
		nodes = func() *membership.Set {
			if c, ok := r.store.(*quorum.Cluster); ok {
				return c.Set
			}
			return nil // it is not open yet
		}
	}
	m.Begin(about, most, nodes)
	r.metrics = m
}

// counting adds m, if any, to the observer o of the nodes.
func counting(o membership.Observer, m Metrics) membership.Observer {
	if m == nil {
		return o
	}
	counted, restarted := m.NodesObserver(), o.Restarted
	o.Replied = counted.Replied
	o.Restarted = func(node, why string, until time.Time) {
		counted.Restarted(node, why, until)
		restarted(node, why, until)
	}
	return o
}

// sinks are the webhooks of a replica.
type sinks []*webhook.Sink

// A tagBook knows the tags of jobs, those of the configuration and those of
// Config.Source, as they were served last.
type tagBook struct {
	own, sourced atomic.Pointer[map[string][]string]
}

func tagsIn(list []jobs.Job) *map[string][]string {
	tags := make(map[string][]string, len(list))
	for _, job := range list {
		tags[job.Name] = job.Tags
	}
	return &tags
}

// completed returns the source with the defaults of the configuration and the functions of the registry in
// its jobs, whose tags the replica notes.
func (r *Replica) completed(source scheduler.Source, registry *jobs.Registry) scheduler.Source {
	if source == nil {
		return nil
	}
	return scheduler.SourceFunc(func(ctx context.Context) ([]jobs.Job, error) {
		list, err := source.Jobs(ctx)
		if err != nil {
			return nil, err
		}
		whole, err := r.settingsShown.Load().Complete(list, registry)
		if err != nil {
			return nil, err
		}
		r.tags.sourced.Store(tagsIn(whole))
		return whole, nil
	})
}

func (b *tagBook) tagsOf(job string) []string {
	for _, part := range []*atomic.Pointer[map[string][]string]{&b.own, &b.sourced} {
		if tags := part.Load(); tags != nil {
			if of, ok := (*tags)[job]; ok {
				return of
			}
		}
	}
	return nil
}

// newSinks returns the webhooks of the configuration.
func newSinks(c *config.Config, id string, log *slog.Logger, tagsOf func(job string) []string, traces Traces) sinks {
	var all sinks
	var carried func(event.Event) (string, string)
	if traces != nil {
		carried = traces.Carried
	}
	for i, hook := range c.Webhooks {
		all = append(all, webhook.New(webhook.Config{
			Webhook: hook, Name: fmt.Sprintf("webhooks[%d]", i), Namespace: c.Namespace, Replica: id, Resolve: refs.Resolve, TagsOf: tagsOf, Carried: carried, Logger: log,
		}))
	}
	return all
}

func (s sinks) observe(e event.Event) {
	for _, sink := range s {
		sink.Observe(e)
	}
}

// start lets the webhooks post until the returned function is called, which
// waits for their flush.
func (s sinks) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var posting sync.WaitGroup
	for _, sink := range s {
		posting.Go(func() { sink.Run(ctx) })
	}
	return func() {
		cancel()
		posting.Wait()
	}
}
