package gate

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/identity"
)

// users finds users by their secrets.
type users struct {
	byName  map[string]identity.User
	byToken map[string]identity.User // by the stored form

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

// SetUsers replaces the users. With an error nothing has changed.
func (g *Gate) SetUsers(list []identity.User) error {
	if err := validateUsers(list); err != nil {
		return err
	}
	g.users.Swap(newUsers(list)).replaced()
	return nil
}

// validateUsers returns all mistakes in users.
func validateUsers(list []identity.User) error {
	var errs []error
	names := map[string]bool{}
	for _, u := range list {
		if err := u.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("web: user %q: %w", u.Name, err))
		}
		if names[u.Name] {
			errs = append(errs, fmt.Errorf("web: user %q is defined twice", u.Name))
		}
		names[u.Name] = true
	}
	return errors.Join(errs...)
}

func newUsers(list []identity.User) *users {
	u := &users{byName: map[string]identity.User{}, byToken: map[string]identity.User{}, known: map[[sha256.Size]byte]time.Time{}}
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

// token returns the user with the token.
func (u *users) token(given string) (identity.User, bool) {
	user, ok := u.byToken[identity.HashToken(given)]
	return user, ok
}

// password returns the named user if the password is correct, and caches it for the network.
func (u *users) password(name, given, network string) (identity.User, bool) {
	user := u.byName[name] // unknown users have no password
	if !user.HasPassword(given) {
		return identity.User{}, false
	}
	u.remember(name, given, network)
	return user, true
}

// remembered returns the user if the password is cached for the network.
func (u *users) remembered(name, given, network string) (identity.User, bool) {
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
