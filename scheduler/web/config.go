package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// Nodes tells of the nodes and of the locks on them.
type Nodes interface {
	Nodes(ctx context.Context) []listing.Node
	Checks(ctx context.Context) []listing.Check
	// Locks returns some of the rows with a *scheduler.PartialError.
	Locks(ctx context.Context) ([]listing.Lock, error)
}

// A Config says what is served, and to whom.
type Config struct {
	// Control reads the cluster and asks it for acts. Required.
	Control listing.Control
	// Nodes are those of the cluster. Required.
	Nodes Nodes
	// Settings returns the configuration in effect, without secrets, in a form that
	// encoding/json can write. Nil: it is not shown.
	Settings func() any
	// Warnings, if set, returns what people should know of this replica that no node
	// tells, a sentence each. The overview shows them.
	Warnings func() []string
	// Live, if set, returns a run that goes on in this process, and what it has logged
	// so far; false if there is none of the named job with the token. What other
	// replicas run is shown as they have stored it.
	Live func(job string, token locking.Token) (scheduler.Log, bool)
	// Replica is the one that serves, and Version its release.
	Replica, Version string

	// Probes are served, too. Default: none.
	Probes Probes
	// BasePath goes before every path, such as /admin/cron. Default: none.
	BasePath string
	// Users may log in. Names are unique. Server.SetUsers replaces them.
	Users []User
	// Anonymous says who may read without being a user. Default: AnonymousNone.
	Anonymous Anonymous
	// Proxy is who may name the user. Default: nobody.
	Proxy Proxy
	// Identify, if set, is asked first who makes a request: for services that know
	// their users themselves. False: it does not know.
	Identify func(*http.Request) (Identity, bool)

	// Timeout bounds what one answer may take. Default: 10s.
	Timeout time.Duration
	// Poll is the pause between two looks for events, at least. Default: 2s.
	Poll time.Duration
	// Listeners is how many streams of events, of the cluster and of runs, may be open
	// at once. One client may take a quarter of them. Default: 100.
	Listeners int
	// Logger says what goes wrong. Default: nobody is told.
	Logger *slog.Logger
}

// WithDefaults returns c with what is not set filled in.
func (c Config) WithDefaults() Config {
	c.BasePath = strings.TrimSuffix(c.BasePath, "/")
	c.Anonymous = cmp.Or(c.Anonymous, AnonymousNone)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	c.Listeners = cmp.Or(c.Listeners, 100)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns what is wrong with c, all of it.
func (c Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Control.Ledger == nil || c.Control.Roster == nil || c.Control.Acts == nil || c.Control.Evict == nil || c.Nodes == nil {
		wrong("web: Control and Nodes are required, with all that is in them")
	}
	if err := ValidBasePath(c.BasePath); err != nil {
		wrong("web: BasePath: %w", err)
	}
	for name, some := range map[string]Anonymous{"Anonymous": c.Anonymous, "Probes.AnonymousMetrics": c.Probes.AnonymousMetrics} {
		switch some {
		case AnonymousLoopback, AnonymousAll, AnonymousNone, "":
		default:
			wrong("web: %s: %q is none of loopback, all, none", name, some)
		}
	}
	if len(c.Proxy.Addresses) > 0 && c.Proxy.UserHeader == "" && c.Proxy.Role != "" {
		wrong("web: Proxy: name the header with the user")
	}
	return errors.Join(append(errs, validateUsers(c.Users))...)
}

// ValidBasePath returns an error unless text can be Config.BasePath.
func ValidBasePath(text string) error {
	clean := strings.TrimSuffix(text, "/")
	if clean == "" {
		return nil
	}
	if !strings.HasPrefix(clean, "/") || strings.ContainsAny(clean, "?#{} \t%") || strings.Contains(clean, "//") || strings.Contains(clean+"/", "/./") || strings.Contains(clean+"/", "/../") {
		return fmt.Errorf("%q is no path; write one such as /admin/cron", text)
	}
	return nil
}

// maxName bounds the name of a user, in bytes.
const maxName = 100

// Validate returns what is wrong with a user.
func (u User) Validate() error {
	var errs []error
	if u.Name == "" || len(u.Name) > maxName || strings.ContainsAny(u.Name, ": \t\r\n") {
		errs = append(errs, errors.New("a name has 1 to 100 characters, without blanks and colons"))
	}
	errs = append(errs, u.Role.Validate())
	if u.Password != "" {
		errs = append(errs, about("password", ValidatePassword(u.Password)))
	}
	if u.Token != "" {
		errs = append(errs, about("token", ValidateToken(u.Token)))
	}
	return errors.Join(errs...)
}

func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
