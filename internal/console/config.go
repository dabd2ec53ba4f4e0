package console

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/pages"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is the configuration of a Server: what it shows, and the choices of the service
// that serves it.
type Config struct {
	// Control reads the cluster and requests acts. Required.
	Control view.Control
	// Nodes of the cluster. Required.
	Nodes view.Nodes
	// Settings returns the effective configuration, without secrets, for encoding/json.
	// Nil: the configuration is not published.
	Settings func() any
	// Live, if set, returns a run in this process and its log so far; false if no run of
	// the job has the token. Runs of other replicas are read from the ledger.
	Live func(job string, token locking.Token) (ledger.Log, bool)
	// Replica is the ID of the serving replica, and Version its release.
	Replica, Version string

	Options
}

// Options are described in dashboard.Config, which has the same fields.
type Options struct {
	BasePath         string
	Users            []identity.User
	Anonymous        identity.Anonymous
	Proxy            identity.Proxy
	Identify         func(*http.Request) (identity.Identity, bool)
	Ready            func() []string
	Metrics          http.Handler
	AnonymousMetrics identity.Anonymous
	Warnings         func() []string
	Timeout          time.Duration
	Poll             time.Duration
	Listeners        int
	Logger           *slog.Logger
}

// WithDefaults returns c with defaults for zero values.
func (c Config) WithDefaults() Config {
	c.BasePath = strings.TrimSuffix(c.BasePath, "/")
	c.Anonymous = cmp.Or(c.Anonymous, identity.AnonymousNone)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	c.Listeners = cmp.Or(c.Listeners, 100)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns all mistakes in c.
func (c Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Control.Ledger == nil || c.Control.Roster == nil || c.Control.Acts == nil || c.Control.Evict == nil || c.Nodes == nil {
		wrong("web: Control and Nodes are required, with all their fields")
	}
	if err := gate.ValidBasePath(c.BasePath); err != nil {
		wrong("web: BasePath: %w", err)
	}
	if err := c.AnonymousMetrics.Validate(); err != nil {
		wrong("web: AnonymousMetrics: %w", err)
	}
	return errors.Join(append(errs, c.gate().Validate())...)
}

// gate is the part for the gate.
func (c Config) gate() gate.Config {
	return gate.Config{
		Users: c.Users, Anonymous: c.Anonymous, Proxy: c.Proxy, Identify: c.Identify, Note: c.Control.Note, Timeout: c.Timeout, Logger: c.Logger,
	}
}

// pages is the part for the API and the dashboard.
func (c Config) pages() pages.Config {
	return pages.Config{Warnings: c.Warnings, Config: api.Config{
		Control: c.Control, Nodes: c.Nodes, Settings: c.Settings, Live: c.Live, Replica: c.Replica, Version: c.Version, BasePath: c.BasePath,
		Anonymous: c.Anonymous, Timeout: c.Timeout, Poll: c.Poll, Listeners: c.Listeners, Logger: c.Logger,
	}}
}
