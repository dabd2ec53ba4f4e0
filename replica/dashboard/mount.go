package dashboard

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/quorate/quorate/internal/console"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/identity"
)

// A Config says under which path the API and the pages are served, and who may do what.
type Config struct {
	// BasePath is the prefix of every path, such as /admin/cron. Default: none.
	BasePath string
	// Users may log in. Names are unique. Handler.SetUsers replaces them.
	Users []identity.User
	// Anonymous says who may read without a user. Default: AnonymousNone.
	Anonymous identity.Anonymous
	// Proxy may name the user. Default: none.
	Proxy identity.Proxy
	// Identify, if set, is called first to identify a user, for services with their own
	// users; false: unknown.
	Identify func(*http.Request) (identity.Identity, bool)

	// Ready returns why the replica takes no ticks; none: it does. If set, GET /healthz
	// always answers 200, and GET /readyz 200 or 503. Both need no user, but only users
	// who may read see the reasons.
	Ready func() []string
	// Metrics, if set, is served as GET /metrics to users who may read.
	Metrics http.Handler
	// AnonymousMetrics says who may read Metrics without a user. Default: AnonymousNone.
	AnonymousMetrics identity.Anonymous
	// Warnings, if set, returns problems of this replica for the overview, as sentences.
	Warnings func() []string

	// Timeout of one request. Default: 10s.
	Timeout time.Duration
	// Poll is the least pause between two polls for events. Default: 2s.
	Poll time.Duration
	// Listeners is how many event streams may be open. One client may open a quarter of
	// them. Default: 100.
	Listeners int
	// Logger. Default: that of the replica.
	Logger *slog.Logger
}

// A Handler serves the API and the pages below Config.BasePath.
type Handler struct{ web *console.Server }

// Mount returns the API and the pages of a replica's cluster, for a service that serves
// them in its own mux. Close it before the replica ends.
func Mount(r *replica.Replica, cfg Config) (*Handler, error) {
	server, err := newServer(r.Shown(), cfg)
	if err != nil {
		return nil, err
	}
	return &Handler{server}, nil
}

func newServer(r view.Host, cfg Config) (*console.Server, error) {
	cfg.Logger = cmp.Or(cfg.Logger, r.Logger)
	return console.New(console.Config{
		Control: r.Control, Nodes: r.Nodes, Settings: r.Settings, Live: r.Live, Replica: r.ID, Version: r.Version, Options: console.Options(cfg),
	})
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.web.ServeHTTP(w, r) }

// SetUsers replaces the users. Removed users and old secrets are refused from the next
// request on. Event streams end, so clients connect and log in again. On an error nothing
// has changed.
func (h *Handler) SetUsers(list []identity.User) error { return h.web.SetUsers(list) }

// Observe sends this replica's events sooner, and records the contests that it loses. It is
// a scheduler.Observer.
func (h *Handler) Observe(e scheduler.Event) { h.web.Observe(e) }

// Close ends all event streams and waits for them.
func (h *Handler) Close() { h.web.Close() }
