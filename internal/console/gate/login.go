package gate

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/identity"
)

// Identify returns the user of the request, or a problem with the credentials.
func (g *Gate) Identify(r *http.Request) (identity.Identity, *problem.Problem) {
	if g.cfg.Identify != nil {
		id, ok := g.cfg.Identify(r)
		if id.Address == "" {
			id.Address = g.Address(r)
		}
		if ok {
			return id, nil
		}
	}
	id := identity.Identity{Address: g.Address(r)}
	if name := g.proxyUser(r); name != "" { // the Authorization header may be for the proxy
		if len(name) > MaxName {
			return id, problem.Unauthorized("the proxy names a user with more than " + strconv.Itoa(MaxName) + " characters")
		}
		id.Name, id.Role = name, g.cfg.Proxy.Role
		if user, ok := g.users.Load().byName[name]; ok {
			id.Role = user.Role
		}
		return id, nil
	}
	if r.Header.Get("Authorization") != "" {
		return g.login(r, id)
	}
	if s, ok := g.sessionOf(r, time.Now()); ok {
		return asUser(id, g.users.Load().byName[s.name]), nil
	}
	if g.Open(r, g.cfg.Anonymous) {
		id.Role = identity.Viewer
	}
	return id, nil
}

// login checks the secret of a request's header.
func (g *Gate) login(r *http.Request, id identity.Identity) (identity.Identity, *problem.Problem) {
	if name, given, basic := r.BasicAuth(); basic {
		return g.loginByName(r, id, name, given)
	}
	if token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); bearer {
		if user, ok := g.users.Load().byToken[HashToken(strings.TrimSpace(token))]; ok {
			return asUser(id, user), nil
		}
	}
	return id, g.failed(r, id, "")
}

// loginByName checks a password or a token, which browsers send as passwords. Passwords are checked in their turn:
// parallel guesses would be answered before they are counted, and would use all processors.
func (g *Gate) loginByName(r *http.Request, id identity.Identity, name, given string) (identity.Identity, *problem.Problem) {
	if user, ok := g.users.Load().byToken[HashToken(strings.TrimSpace(given))]; ok && user.Name == name {
		return asUser(id, user), nil
	}
	if len(name) > MaxName { // no user has this name, and it is not counted
		return id, g.failed(r, id, "")
	}
	users, from := g.users.Load(), network(id.Address)
	if user, ok := users.remembered(name, given, from); ok {
		return asUser(id, user), nil
	}
	if g.failures.wait(id.Address, name, time.Now()) > 0 {
		return id, g.failed(r, id, name)
	}
	if !g.turns.take(r.Context(), id.Address, name) {
		return id, problem.TooMany("too many logins at once; this address keeps its place for a minute", time.Second)
	}
	defer g.turns.give(id.Address, name)
	if user, ok := users.remembered(name, given, from); ok { // checked during the wait
		return asUser(id, user), nil
	}
	if g.failures.wait(id.Address, name, time.Now()) == 0 {
		if user := users.byName[name]; user.HasPassword(given) { // unknown users have none
			users.remember(name, given, from)
			return asUser(id, user), nil
		}
	}
	return id, g.failed(r, id, name)
}

// failed counts a failed login, unless there are too many.
func (g *Gate) failed(r *http.Request, id identity.Identity, name string) *problem.Problem {
	now := time.Now()
	if wait := g.failures.wait(id.Address, name, now); wait > 0 {
		return problem.TooMany("too many failed logins", wait)
	}
	g.failures.add(id.Address, name, now)
	g.cfg.Logger.Warn("a login failed", "address", id.Address, "user", name, "path", r.URL.Path)
	return problem.Unauthorized("the user name, password or token is wrong")
}

// asUser returns the identity of a known user.
func asUser(id identity.Identity, user User) identity.Identity {
	id.Name, id.Role = user.Name, user.Role
	return id
}

// Address is the client's address: the last hop that is not a trusted proxy. A hop that is no address
// counts as the proxy that named it.
func (g *Gate) Address(r *http.Request) string {
	peer := peerOf(r)
	if !g.trusted(peer) {
		return peer.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if hop = strings.TrimSpace(hop); hop == "" {
			continue
		}
		at, ok := parseHop(hop)
		if !ok {
			g.badHop.Do(func() {
				g.cfg.Logger.Warn("a proxy sends X-Forwarded-For that is no address: its clients count as the proxy. This is logged once",
					"value", hop[:min(len(hop), 100)], "proxy", peer.String())
			})
			break
		}
		if peer = at; !g.trusted(peer) {
			break
		}
	}
	return peer.String()
}

// parseHop reads an address with or without a port, which may be quoted.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.Trim(text, `"`)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return unmapped(at.Addr()), true
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	at, err := netip.ParseAddr(text)
	return unmapped(at), err == nil
}

func peerOf(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // an invalid address is not trusted
	return unmapped(peer.Addr())
}

// unmapped is the one form of an address: an IPv4 address is not within IPv6, and there is no zone.
func unmapped(at netip.Addr) netip.Addr { return at.Unmap().WithZone("") }

func (g *Gate) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(g.cfg.Proxy.Addresses, func(p netip.Prefix) bool { return p.Contains(at) })
}

// proxyUser is the user named by a trusted proxy, or "".
func (g *Gate) proxyUser(r *http.Request) string {
	if g.cfg.Proxy.UserHeader == "" || !g.trusted(peerOf(r)) {
		return ""
	}
	return strings.TrimSpace(r.Header.Get(g.cfg.Proxy.UserHeader))
}

// Open reports whether a request without a user may read. Requests through a trusted proxy may
// not: the proxy names users, and all its requests look local.
func (g *Gate) Open(r *http.Request, some identity.Anonymous) bool {
	if g.trusted(peerOf(r)) {
		return false
	}
	switch some {
	case identity.AnonymousAll:
		return true
	case identity.AnonymousLoopback:
		return peerOf(r).IsLoopback() && !forwarded(r.Header) && loopbackName(r.Host)
	}
	return false
}

// forwarded reports whether a proxy has forwarded the request.
func forwarded(h http.Header) bool {
	return slices.ContainsFunc([]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}, func(key string) bool {
		return h.Get(key) != ""
	})
}

// loopbackName reports whether a Host header names this machine. Foreign names that resolve to
// it do not count.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && at.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Client identifies a client for limits: users by name, others by network.
func Client(id identity.Identity) string {
	if id.Name != "" {
		return "user " + id.Name
	}
	return "address " + network(id.Address)
}

// users finds users by their secrets.
type users struct {
	byName  map[string]User
	byToken map[string]User // by the stored form

	valid    context.Context // ends when the users are replaced
	replaced context.CancelFunc

	mu    sync.Mutex
	key   [32]byte // of this process
	known map[[sha256.Size]byte]time.Time
}

// Correct passwords are cached as keyed hashes while they are in use: browsers send the
// password with every request, and a check takes 0.1 s or more of a processor. They count from the
// network that sent them: from others this would be a way to guess fast.
const (
	rememberFor  = 5 * time.Minute
	rememberMost = 1000
)

// SetUsers replaces the users.
func (g *Gate) SetUsers(list []User) { g.users.Swap(newUsers(list)).replaced() }

func newUsers(list []User) *users {
	u := &users{byName: map[string]User{}, byToken: map[string]User{}, known: map[[sha256.Size]byte]time.Time{}}
	u.valid, u.replaced = context.WithCancel(context.Background())
	_, _ = rand.Read(u.key[:]) // never fails
	for _, one := range list {
		u.byName[one.Name] = one
		if one.Token != "" {
			u.byToken[one.Token] = one
		}
	}
	return u
}

// remembered returns the user if the password is cached for the network.
func (u *users) remembered(name, given, network string) (User, bool) {
	sum := u.sum(name, given, network)
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	until, ok := u.known[sum]
	if ok = ok && now.Before(until); ok {
		u.known[sum] = now.Add(rememberFor)
	}
	return u.byName[name], ok
}

// remember caches a correct password for the network.
func (u *users) remember(name, given, network string) {
	sum, now := u.sum(name, given, network), time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= rememberMost {
		clear(u.known)
	}
	u.known[sum] = now.Add(rememberFor)
}

func (u *users) sum(name, given, network string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, u.key[:])
	mac.Write([]byte(name + "\x00" + network + "\x00" + given)) // the password may contain anything
	mac.Sum(sum[:0])
	return sum
}
