package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A User is somebody who may ask for something.
type User struct {
	Name string
	Role Role
	// Password and Token are the stored forms of secrets (HashPassword, NewToken);
	// empty: the user has none.
	Password, Token string
}

// users knows who has which secret.
type users struct {
	byName  map[string]User
	byToken map[string]User // by the stored form
	decoy   password        // is asked where there is no such user

	valid    context.Context // ends when they are replaced
	replaced context.CancelFunc

	mu    sync.Mutex
	key   [32]byte // of this process
	known map[[sha256.Size]byte]time.Time
}

// Passwords that were right are remembered until they are not sent for a while, as a keyed hash: to check
// one takes a processor a tenth of a second or more, and browsers send it with every
// request.
const (
	rememberFor  = 5 * time.Minute
	rememberMost = 1000
)

// SetUsers replaces the users. Who is no longer one, or has another secret, is refused
// from the next request on; who reads events, those of a run included, connects again,
// and says anew who it is. With an error nothing has changed.
func (s *Server) SetUsers(list []User) error {
	if err := validateUsers(list); err != nil {
		return err
	}
	s.users.Swap(newUsers(list)).replaced()
	return nil
}

// validateUsers returns what is wrong with users, all of it.
func validateUsers(list []User) error {
	var errs []error
	names := map[string]bool{}
	for _, u := range list {
		if err := u.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("web: user %q: %w", u.Name, err))
		}
		if names[u.Name] {
			errs = append(errs, fmt.Errorf("web: user %q stands twice", u.Name))
		}
		names[u.Name] = true
	}
	return errors.Join(errs...)
}

func newUsers(list []User) *users {
	u := &users{byName: map[string]User{}, byToken: map[string]User{}, known: map[[sha256.Size]byte]time.Time{}}
	u.decoy = password{salt: make([]byte, saltBytes), key: make([]byte, keyBytes), n: iterations}
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
func (u *users) token(given string) (User, bool) {
	user, ok := u.byToken[hashToken(given)]
	return user, ok
}

// password returns the user with the name if the password is right. It takes about
// as long if there is no such user, so that nobody learns who there is.
func (u *users) password(name, given string) (User, bool) {
	user, known := u.byName[name]
	stored, err := parsePassword(user.Password)
	if !known || err != nil {
		u.decoy.is(given)
		return User{}, false
	}
	if !stored.is(given) {
		return User{}, false
	}
	u.remember(name, given)
	return user, true
}

// remembered returns the user if the password was right lately.
func (u *users) remembered(name, given string) (User, bool) {
	sum := u.sum(name, given)
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	until, ok := u.known[sum]
	if ok = ok && now.Before(until); ok {
		u.known[sum] = now.Add(rememberFor)
	}
	return u.byName[name], ok
}

func (u *users) remember(name, given string) {
	sum, now := u.sum(name, given), time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= rememberMost {
		clear(u.known)
	}
	u.known[sum] = now.Add(rememberFor)
}

func (u *users) sum(name, given string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, u.key[:])
	mac.Write([]byte(name + "\x00" + given))
	mac.Sum(sum[:0])
	return sum
}
