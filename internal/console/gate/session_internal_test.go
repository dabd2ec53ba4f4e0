package gate

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/identity"
)

// A session of a replica whose clock is a little ahead is valid, one from the future is not.
func TestSessionFromAhead(t *testing.T) {
	t.Parallel()
	g := New(Config{SessionKey: []byte("0123456789abcdef0123456789abcdef"), Users: []User{{Name: "ann", Role: identity.Viewer}}})
	for ahead, want := range map[time.Duration]string{0: "ann", sessionAhead - time.Minute: "ann", sessionAhead + time.Minute: ""} {
		at := time.Now().Add(ahead)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: SessionCookie, Value: g.sign(session{"ann", at, at})})
		if id, _ := g.Identify(r); id.Name != want {
			t.Errorf("%v ahead it is %q, want %q", ahead, id.Name, want)
		}
	}
}
