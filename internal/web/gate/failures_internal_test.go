package gate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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
	if len(f.counts) != 1 {
		t.Errorf("%d are counted, want the last one", len(f.counts))
	}
}

// A name that no user can have is not kept, nor is its password checked.
func TestLongNamesAreNotKept(t *testing.T) {
	t.Parallel()
	s := New(Config{Proxy: identity.Proxy{UserHeader: "X-User"}})
	s.users.Store(newUsers(nil))
	for n := range failsByAddress {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.SetBasicAuth(strings.Repeat("x", 740_000)+fmt.Sprint(n), "guess")
		if _, wrong := s.Identify(r); wrong == nil || wrong.Status != http.StatusUnauthorized {
			t.Errorf("guess %d: %+v", n, wrong)
		}
	}
	for key := range s.failures.counts {
		if len(key) > 2*identity.MaxName {
			t.Errorf("%d bytes are kept of a name", len(key))
		}
	}
}
