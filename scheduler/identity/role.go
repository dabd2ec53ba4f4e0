package identity

import (
	"fmt"
	"slices"
)

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
