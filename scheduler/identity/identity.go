package identity

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
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

// Validate returns an error unless it is one of the choices, or empty.
func (a Anonymous) Validate() error {
	switch a {
	case AnonymousLoopback, AnonymousAll, AnonymousNone, "":
		return nil
	}
	return fmt.Errorf("%q is not one of loopback, all, none", string(a))
}

// A Proxy may authenticate users.
type Proxy struct {
	// Addresses of the trusted proxies.
	Addresses []netip.Prefix
	// UserHeader is the header with the user's name.
	UserHeader string
	// Role of users who are not in Config.Users. Empty: none.
	Role Role
}

// A User may log in.
type User struct {
	Name string
	Role Role
	// Password and Token are stored forms (HashPassword, NewToken); empty: none.
	Password, Token string
}

// MaxName bounds the name of a user, in bytes.
const MaxName = 100

// Validate returns the mistakes in a user.
func (u User) Validate() error {
	var errs []error
	if u.Name == "" || len(u.Name) > MaxName || strings.ContainsAny(u.Name, ": \t\r\n") {
		errs = append(errs, errors.New("write a name of 1 to 100 characters, without spaces and colons"))
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
