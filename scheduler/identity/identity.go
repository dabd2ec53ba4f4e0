// Package identity has the users of the API and the dashboard, as those see them who identify
// them: their names and roles.
//
// Every command needs a role, from any address. The [Role] viewer reads, operator also requests
// commands, admin also takes locks from their holders. Users send a bearer token, or name and
// password; a reverse proxy may name the user in a header instead. [Anonymous] says who may read
// without a user.
package identity

import (
	"fmt"
	"slices"
)

// An Identity is the user of a request.
type Identity struct {
	// Name of the user, empty for anonymous requests.
	Name string
	// Role of the user; empty: none.
	Role Role
	// Address of the client, as far as proxies are trusted.
	Address string
}

// By is the author in the audit log.
func (id Identity) By() string {
	if id.Name == "" {
		return "nobody@" + id.Address
	}
	return id.Name + "@" + id.Address
}

// Anonymous says who may read without a user.
type Anonymous string

// Choices of Anonymous.
const (
	// AnonymousLoopback lets this machine read: local requests to a local name without
	// proxy headers. It is for development: a local proxy that sends no such headers lets
	// everyone read.
	AnonymousLoopback Anonymous = "loopback"
	// AnonymousAll lets everyone read, except through a trusted proxy.
	AnonymousAll  Anonymous = "all"
	AnonymousNone Anonymous = "none"
)

// Values returns the choices.
func (Anonymous) Values() []string {
	return []string{string(AnonymousLoopback), string(AnonymousAll), string(AnonymousNone)}
}

// A Role says what a user may do. Each role includes the ones before it.
type Role string

// The roles.
const (
	// Viewer may read everything, including logs and params.
	Viewer Role = "viewer"
	// Operator may also trigger, pause, resume, backfill and cancel.
	Operator Role = "operator"
	// Admin may also take locks from their holders.
	Admin Role = "admin"
)

// Roles lists all roles, the weakest first.
func Roles() []Role { return []Role{Viewer, Operator, Admin} }

// Values returns the names of all roles.
func (Role) Values() []string {
	var names []string
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return names
}

// Allows reports whether the role includes the needed one. The empty role includes only itself.
func (r Role) Allows(needed Role) bool {
	return needed == "" || slices.Index(Roles(), r) >= slices.Index(Roles(), needed)
}

// Validate returns an error unless it is one of Roles.
func (r Role) Validate() error {
	if !slices.Contains(Roles(), r) {
		return fmt.Errorf("%q is not a role; write viewer, operator or admin", r)
	}
	return nil
}
