package web

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/web/identity"
	"github.com/quorate/quorate/scheduler/web/internal/api"
	"github.com/quorate/quorate/scheduler/web/internal/pages"
)

// Config is the configuration of a Server.
type Config struct {
	// Control reads the cluster and requests acts. Required.
	Control listing.Control
	// Nodes of the cluster. Required.
	Nodes listing.Nodes
	// Settings returns the effective configuration, without secrets, for encoding/json.
	// Nil: the configuration is not published.
	Settings func() any
	// Warnings, if set, returns problems of this replica for the overview, as sentences.
	Warnings func() []string
	// Live, if set, returns a run in this process and its log so far; false if no run of
	// the job has the token. Runs of other replicas are read from the ledger.
	Live func(job string, token locking.Token) (ledger.Log, bool)
	// Replica is the ID of the serving replica, and Version its release.
	Replica, Version string

	// Probes to serve. Default: none.
	Probes Probes
	// BasePath is the prefix of every path, such as /admin/cron. Default: none.
	BasePath string
	// Users may log in. Names are unique. Server.SetUsers replaces them.
	Users []identity.User
	// Anonymous says who may read without a user. Default: AnonymousNone.
	Anonymous identity.Anonymous
	// Proxy may name the user. Default: none.
	Proxy identity.Proxy
	// Identify, if set, is called first to identify a user, for services with their own
	// users; false: unknown.
	Identify func(*http.Request) (identity.Identity, bool)

	// Timeout of one request. Default: 10s.
	Timeout time.Duration
	// Poll is the least pause between two polls for events. Default: 2s.
	Poll time.Duration
	// Listeners is how many event streams may be open. One client may open a quarter of
	// them. Default: 100.
	Listeners int
	// Logger. Default: discards.
	Logger *slog.Logger
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
	if err := identity.ValidBasePath(c.BasePath); err != nil {
		wrong("web: BasePath: %w", err)
	}
	if err := c.Probes.AnonymousMetrics.Validate(); err != nil {
		wrong("web: Probes.AnonymousMetrics: %w", err)
	}
	return errors.Join(append(errs, c.identity().Validate())...)
}

// identity is the part for the gate.
func (c Config) identity() identity.Config {
	return identity.Config{
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
