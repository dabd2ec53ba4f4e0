package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"

	"github.com/quorate/quorate/scheduler/identity"
)

// A service has pages and sessions of its own. The sessions stand for those of yours.
type service struct {
	mu       sync.Mutex
	sessions map[string]identity.Identity // by the value of the cookie
}

const sessionCookie = "session"

func newService() *service { return &service{sessions: map[string]identity.Identity{}} }

// identify tells the dashboard who sends a request. An event stream calls it repeatedly, so a
// session that has ended soon ends its streams.
func (s *service) identify(r *http.Request) (identity.Identity, bool) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return identity.Identity{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.sessions[cookie.Value]
	return user, ok
}

// login would check a password or ask your identity provider. Here everybody is ann, who may
// trigger jobs.
func (s *service) login(w http.ResponseWriter, r *http.Request) {
	key := rand.Text()
	s.mu.Lock()
	s.sessions[key] = identity.Identity{Name: "ann", Role: identity.Operator}
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, prefix+"/", http.StatusSeeOther)
}

func (s *service) home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<form method="post" action="/login"><button>Log in</button></form> <a href="%s/">Jobs</a>`, prefix)
}
