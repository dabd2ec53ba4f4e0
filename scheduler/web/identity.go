package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Identity is who makes a request.
type Identity struct {
	// Name of the user, empty for who has not said.
	Name string
	// Role is what the user may do; empty: nothing.
	Role Role
	// Address is where the request comes from, as far as proxies are trusted.
	Address string
}

// By is how the audit log names who acts.
func (id Identity) By() string {
	if id.Name == "" {
		return "nobody@" + id.Address
	}
	return id.Name + "@" + id.Address
}

// Anonymous says who may read without being a user.
type Anonymous string

// Choices of Anonymous.
const (
	// AnonymousLoopback lets this machine read: requests that come from it to a name
	// of its own, and do not say that a proxy has passed them on. A proxy on this
	// machine that does not say so lets everybody read: it is for development.
	AnonymousLoopback Anonymous = "loopback"
	// AnonymousAll lets everybody read who comes from no trusted proxy.
	AnonymousAll  Anonymous = "all"
	AnonymousNone Anonymous = "none"
)

// A Proxy is what may say who a user is, in place of the user.
type Proxy struct {
	// Addresses are those of the proxies. Nobody else is believed.
	Addresses []netip.Prefix
	// UserHeader is the header with the name of the user.
	UserHeader string
	// Role is what users have that are not among Config.Users. Empty: nothing.
	Role Role
}

// identify returns who makes the request, or what is wrong with how they say so.
func (s *Server) identify(r *http.Request) (Identity, *problem) {
	if s.cfg.Identify != nil {
		id, ok := s.cfg.Identify(r)
		if id.Address == "" {
			id.Address = s.address(r)
		}
		if ok {
			return id, nil
		}
	}
	id := Identity{Address: s.address(r)}
	if name := s.vouchedFor(r); name != "" { // an Authorization header beside it may be meant for the proxy
		if len(name) > maxName {
			return id, unauthorized("the proxy names a user with more than " + strconv.Itoa(maxName) + " characters")
		}
		id.Name, id.Role = name, s.cfg.Proxy.Role
		if user, ok := s.users.Load().byName[name]; ok {
			id.Role = user.Role
		}
		return id, nil
	}
	if r.Header.Get("Authorization") != "" {
		return s.login(r, id)
	}
	if s.anonymous(r, s.cfg.Anonymous) {
		id.Role = Viewer
	}
	return id, nil
}

// login checks the secret that a request brings.
func (s *Server) login(r *http.Request, id Identity) (Identity, *problem) {
	name, given, basic := r.BasicAuth()
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if basic { // browsers ask for passwords only
		token = given
	}
	if basic || bearer {
		if user, ok := s.users.Load().token(strings.TrimSpace(token)); ok && (bearer || user.Name == name) {
			return id.as(user), nil
		}
	}
	if basic {
		return s.loginByPassword(r, id, name, given)
	}
	return id, s.failed(r, id, "")
}

// loginByPassword checks a password when its turn has come: many guesses at once
// would not be counted before they are answered, and would take all processors.
func (s *Server) loginByPassword(r *http.Request, id Identity, name, given string) (Identity, *problem) {
	if len(name) > maxName { // nobody is called so, and it is not kept
		return id, s.failed(r, id, "")
	}
	users, from := s.users.Load(), network(id.Address)
	if user, ok := users.remembered(name, given); ok {
		return id.as(user), nil
	}
	if s.failures.wait(id.Address, name, time.Now()) > 0 {
		return id, s.failed(r, id, name)
	}
	if !s.turns.take(r.Context(), from, s.failures.of(id.Address, time.Now())) {
		return id, tooMany("too many logins at once", time.Second)
	}
	defer s.turns.give(from)
	if user, ok := users.remembered(name, given); ok { // while it waited
		return id.as(user), nil
	}
	if s.failures.wait(id.Address, name, time.Now()) == 0 {
		if user, ok := users.password(name, given); ok {
			return id.as(user), nil
		}
	}
	return id, s.failed(r, id, name)
}

// failed counts a login that failed, unless too many have.
func (s *Server) failed(r *http.Request, id Identity, name string) *problem {
	now := time.Now()
	if wait := s.failures.wait(id.Address, name, now); wait > 0 {
		return tooMany("too many failed logins", wait)
	}
	s.failures.add(id.Address, name, now)
	s.cfg.Logger.Warn("a login failed", "address", id.Address, "user", name, "path", r.URL.Path)
	return unauthorized("the user name, password or token is wrong")
}

// as is who makes the request, now that it is known to be user.
func (id Identity) as(user User) Identity {
	id.Name, id.Role = user.Name, user.Role
	return id
}

// address is where a request comes from: the last one that no trusted proxy has.
func (s *Server) address(r *http.Request) string {
	peer := peerOf(r)
	if !s.trusted(peer) {
		return peer.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		at, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if peer = at.Unmap().WithZone(""); !s.trusted(peer) {
			break
		}
	}
	return peer.String()
}

func peerOf(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // of no use, and trusted by nobody
	}
	return peer.Addr().Unmap()
}

func (s *Server) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Proxy.Addresses, func(p netip.Prefix) bool { return p.Contains(at) })
}

// vouchedFor is the user that a trusted proxy names, "" if there is none.
func (s *Server) vouchedFor(r *http.Request) string {
	if s.cfg.Proxy.UserHeader == "" || !s.trusted(peerOf(r)) {
		return ""
	}
	return strings.TrimSpace(r.Header.Get(s.cfg.Proxy.UserHeader))
}

// anonymous tells whether a request without a user may read, where some of them may.
// Those that a trusted proxy passes on never do: it names their users, and nothing in
// them tells this machine from any other.
func (s *Server) anonymous(r *http.Request, some Anonymous) bool {
	if s.trusted(peerOf(r)) {
		return false
	}
	switch some {
	case AnonymousAll:
		return true
	case AnonymousLoopback:
		return peerOf(r).IsLoopback() && !forwarded(r.Header) && loopbackName(r.Host)
	}
	return false
}

// forwarded tells whether a proxy has passed the request on.
func forwarded(h http.Header) bool {
	return slices.ContainsFunc([]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}, func(key string) bool {
		return h.Get(key) != ""
	})
}

// loopbackName tells whether a Host header names this machine. A page of somebody
// else, whose name resolves to it, does not.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && at.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
