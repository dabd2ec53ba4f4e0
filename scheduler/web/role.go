package web

import (
	"fmt"
	"slices"
)

// A Role says what a user may do. Each includes those before it.
type Role string

// The roles.
const (
	// Viewer may read everything, logs and params of runs included.
	Viewer Role = "viewer"
	// Operator may also trigger, pause, resume, backfill and cancel.
	Operator Role = "operator"
	// Admin may also take locks away from their holders.
	Admin Role = "admin"
)

// Roles lists all roles, from that which may least.
func Roles() []Role { return []Role{Viewer, Operator, Admin} }

// Allows tells whether who has the role may do what takes the other one. The
// empty role allows nothing, and nothing but itself is needed for it.
func (r Role) Allows(needed Role) bool {
	return needed == "" || slices.Index(Roles(), r) >= slices.Index(Roles(), needed)
}

// Validate returns an error unless it is one of Roles.
func (r Role) Validate() error {
	if !slices.Contains(Roles(), r) {
		return fmt.Errorf("%q is no role; write viewer, operator or admin", r)
	}
	return nil
}
