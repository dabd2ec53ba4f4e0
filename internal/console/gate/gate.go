// Package gate admits requests: it finds the user of each, by password, token, session or a proxy
// that names users, and refuses what the user's role does not allow.
//
// Failed logins are counted by address and by user; too many make both wait. Writes from
// pages of other origins are refused. Refused commands are recorded in the cluster's audit log,
// up to a limit, and all of them in the replica's log.
package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
)

// A Config has the users and where their requests come from. Package config has checked it.
type Config struct {
	// Users may log in. Names are unique.
	Users []User
	// Anonymous says who may read without a user. Default: AnonymousNone.
	Anonymous identity.Anonymous
	// Proxy may name the user. Default: none.
	Proxy Proxy
	// Identify, if set, is called first to identify a user; false: unknown.
	Identify func(*http.Request) (identity.Identity, bool)
	// SessionKey signs the cookies of browsers that have logged in by a form. Empty: they log in by HTTP Basic.
	SessionKey []byte
	// Note records a refused command in the audit log, within Timeout.
	Note    func(context.Context, commands.Command) error
	Timeout time.Duration
	// Logger. Default: discards.
	Logger *slog.Logger
}

// A Gate admits requests.
type Gate struct {
	cfg      Config
	users    atomic.Pointer[users] // replaced as a whole
	failures failures
	turns    turns // for password checks
	badHop   sync.Once
	origins  *http.CrossOriginProtection

	noting sync.Mutex
	noted  failCount // refusals in the audit log, which must not displace other commands
}

// New returns a gate of a valid configuration.
func New(cfg Config) *Gate {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	g := &Gate{cfg: cfg, origins: http.NewCrossOriginProtection()}
	g.turns.failures = &g.failures
	g.users.Store(newUsers(cfg.Users))
	return g
}

// NoUsers reports whether nobody can log in: there are neither users nor a proxy.
func (g *Gate) NoUsers() bool {
	return len(g.users.Load().byName) == 0 && g.cfg.Proxy.UserHeader == ""
}

// Valid ends when the users are replaced; streams must then be admitted again.
func (g *Gate) Valid() context.Context { return g.users.Load().valid }

// HasSessions reports whether there may be sessions, which end unannounced: those of Config.Identify, or of cookies.
func (g *Gate) HasSessions() bool { return g.cfg.Identify != nil || g.OffersSessions() }

// Origin returns an error for a request from a page of another origin.
func (g *Gate) Origin(r *http.Request) error { return g.origins.Check(r) }

// Admit returns the user of a request that needs a role, or why the request is refused. Kind
// is that of its command, or "".
func (g *Gate) Admit(r *http.Request, needed identity.Role, kind commands.Kind) (identity.Identity, *problem.Problem) {
	id, wrong := g.Identify(r)
	if wrong == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.origins.Check(r); err != nil {
			wrong = problem.New(http.StatusForbidden, "cross_origin", "the request comes from a page of another origin")
		}
	}
	if wrong == nil {
		wrong = Lacks(id, needed)
	}
	if wrong != nil {
		wrong.Form = g.fromForm(r)
	}
	if wrong != nil && kind != "" {
		g.noteRefusal(r, kind, id, wrong)
	}
	return id, wrong
}

// Lacks returns a problem if the user lacks the role.
func Lacks(id identity.Identity, needed identity.Role) *problem.Problem {
	switch {
	case id.Role.Allows(needed):
		return nil
	case id.Name == "":
		return problem.Unauthorized("this needs the role " + string(needed) + "; send a token or log in")
	case id.Role == "":
		return problem.Forbidden(id.Name + " has no role here; this needs the role " + string(needed))
	}
	return problem.Forbidden(id.Name + " has role " + string(id.Role) + "; this needs the role " + string(needed))
}

// Limits for refusals in the audit log. Others are only in the replica's log.
const (
	maxBody    = 64 << 10 // searched for the reason
	noteWindow = time.Minute
	noteMost   = 10
)

// noteRefusal logs a refused command, and records it in the audit log.
func (g *Gate) noteRefusal(r *http.Request, kind commands.Kind, id identity.Identity, wrong *problem.Problem) {
	command := commands.Command{
		Kind: kind, Job: r.PathValue("job"), All: r.PathValue("job") == "", By: id.By(), Result: commands.RefusedResult + wrong.Detail,
	}
	var body struct {
		Reason string `json:"reason"`
	}
	if text, err := io.ReadAll(io.LimitReader(r.Body, maxBody)); err == nil && json.Unmarshal(text, &body) == nil {
		command.Reason = body.Reason
	}
	g.cfg.Logger.Warn("a command was refused", "act", string(command.Kind), "of", command.Target(), "by", command.By, "why", wrong.Detail)
	g.noting.Lock()
	if now := time.Now(); !now.Before(g.noted.until) {
		g.noted = failCount{until: now.Add(noteWindow)}
	}
	g.noted.n++
	over := g.noted.n > noteMost
	g.noting.Unlock()
	if over {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), g.cfg.Timeout)
	defer cancel()
	if err := g.cfg.Note(ctx, command); err != nil {
		g.cfg.Logger.Warn("the audit log could not record a refused command", "why", err)
	}
}

// ValidBasePath returns an error unless text can be the prefix of every served path.
func ValidBasePath(text string) error {
	clean := strings.TrimSuffix(text, "/")
	if clean == "" {
		return nil
	}
	if !strings.HasPrefix(clean, "/") || strings.ContainsAny(clean, "?#{} \t%") || strings.Contains(clean, "//") || strings.Contains(clean+"/", "/./") || strings.Contains(clean+"/", "/../") {
		return fmt.Errorf("%q is not a valid path; write one such as /admin/cron", text)
	}
	return nil
}
