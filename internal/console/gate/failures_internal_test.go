package gate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/identity"
)

var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// The table of failed logins has a bound, which lets nobody guess on who has used up
// their tries.
func TestLoginTableIsBounded(t *testing.T) {
	t.Parallel()
	var f failures
	for range failsByAddress {
		f.add("192.0.2.1", "ann", noon)
	}
	for n := range 2 * mostCounted {
		f.add(fmt.Sprintf("10.0.%d.%d", n/256, n%256), fmt.Sprint("user", n), noon)
	}
	if len(f.counts) > mostCounted {
		t.Errorf("%d are counted, at most %d should be", len(f.counts), mostCounted)
	}
	if f.wait("192.0.2.1", "", noon) == 0 {
		t.Error("other addresses drove one out that has to wait")
	}
}

// Counts that have ended are dropped at the first failure after that.
func TestLoginTableIsSwept(t *testing.T) {
	t.Parallel()
	var f failures
	for n := range 1000 {
		f.add(fmt.Sprintf("10.0.%d.%d", n/256, n%256), "", noon)
	}
	f.add("192.0.2.1", "", noon.Add(2*failWindow))
	if len(f.counts) != levels {
		t.Errorf("%d are counted, want the last one", len(f.counts))
	}
}

// While many addresses guess a user's password, the user logs in from a fresh address; those who guess
// must wait sooner than otherwise, also with the password.
func TestGuessesDoNotLockAUserOut(t *testing.T) {
	t.Parallel()
	hash, err := HashPassword("the right password")
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Users: []User{{Name: "ann", Role: identity.Viewer, Password: hash}}})
	now := time.Now()
	for n := range 500 {
		for range failsByGuessed {
			g.failures.add(fmt.Sprintf("10.0.%d.%d", n/256, n%256), "ann", now)
		}
	}
	login := func(address, password string) int { return loginOfAnn(t, g, address, password) }
	var guessing sync.WaitGroup
	for n := range 5 {
		guessing.Go(func() { login(fmt.Sprint("198.51.100.", n+1), "a guess") })
	}
	if status := login("10.0.1.1", "the right password"); status != http.StatusTooManyRequests {
		t.Errorf("from an address that guesses: %d", status)
	}
	if status := login("192.0.2.1", "the right password"); status != http.StatusOK {
		t.Errorf("from a fresh address: %d", status)
	}
	guessing.Wait()
}

// loginOfAnn returns the status of a login.
func loginOfAnn(t *testing.T, g *Gate, address, password string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = address + ":1"
	r.SetBasicAuth("ann", password)
	if _, wrong := g.Identify(r); wrong != nil {
		return wrong.Status
	}
	return http.StatusOK
}

// The cache of correct passwords is no way to guess: it holds for the network that sent the password, and
// is not asked for others that have to wait.
func TestTheCacheIsNoWayToGuess(t *testing.T) {
	t.Parallel()
	hash, err := HashPassword("the right password")
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Users: []User{{Name: "ann", Role: identity.Viewer, Password: hash}}})
	login := func(address, password string) int { return loginOfAnn(t, g, address, password) }
	if status := login("192.0.2.1", "the right password"); status != http.StatusOK {
		t.Fatal(status)
	}
	for range failsByAddress {
		g.failures.add("198.51.100.1", "ann", time.Now())
		g.failures.add("192.0.2.1", "ann", time.Now())
	}
	if status := login("198.51.100.1", "the right password"); status != http.StatusTooManyRequests {
		t.Errorf("from an address that guesses: %d", status)
	}
	if status := login("192.0.2.1", "the right password"); status != http.StatusOK {
		t.Errorf("from the user's own: %d", status)
	}
}

// A name that no user can have is not kept, nor is its password checked.
func TestLongNamesAreNotKept(t *testing.T) {
	t.Parallel()
	s := New(Config{Proxy: Proxy{UserHeader: "X-User"}})
	s.users.Store(newUsers(nil))
	for n := range failsByAddress {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.SetBasicAuth(strings.Repeat("x", 740_000)+fmt.Sprint(n), "guess")
		if _, wrong := s.Identify(r); wrong == nil || wrong.Status != http.StatusUnauthorized {
			t.Errorf("guess %d: %+v", n, wrong)
		}
	}
	for key := range s.failures.counts {
		if len(key) > 2*MaxName {
			t.Errorf("%d bytes are kept of a name", len(key))
		}
	}
}
