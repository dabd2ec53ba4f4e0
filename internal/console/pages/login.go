package pages

import (
	"net/http"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
)

// A loginPage is the form for name and password.
type loginPage struct {
	Name, Back string
	Wrong      string // why the last try failed
}

// serveLogin asks for name and password, by a form if there are sessions, and else by making the browser ask. It
// redirects back. Other pages do not ask users who may read anonymously.
func (p *Pages) serveLogin(w http.ResponseWriter, r *http.Request) {
	v, back := p.newVisit(r, page{name: "login", title: "Log in"}), p.ownPath(r.URL.Query().Get("back"))
	id, wrong := p.gate.Identify(r)
	v.ID = id
	switch {
	case wrong == nil && id.Name != "":
		http.Redirect(w, r, back, http.StatusSeeOther)
	case p.gate.OffersSessions() && r.Header.Get("Authorization") == "":
		v.Data = loginPage{Back: back}
		p.render(w, v, http.StatusOK)
	case wrong != nil:
		p.refuse(w, v, wrong)
	default:
		p.refuse(w, v, problem.Unauthorized("the request has no name and password"))
	}
}

// serveLoginForm begins a session, and redirects back.
func (p *Pages) serveLoginForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
	v := p.newVisit(r, page{name: "login", title: "Log in"})
	if p.refuseForeign(w, r) {
		return
	}
	if !p.gate.OffersSessions() {
		p.refuse(w, v, problem.New(http.StatusNotFound, "not_found", "there is no form to log in: http.session_key is not set"))
		return
	}
	form := loginPage{Name: r.PostFormValue("name"), Back: p.ownPath(r.PostFormValue("back"))}
	cookie, wrong := p.gate.LogIn(r, form.Name, r.PostFormValue("password"))
	if wrong != nil {
		wrong.Head(w.Header())
		w.Header().Del("WWW-Authenticate") // the form asks, not the browser
		form.Wrong = wrong.Detail
		v.Data = form
		p.render(w, v, wrong.Status)
		return
	}
	p.setSession(w, r, cookie)
	http.Redirect(w, r, form.Back, http.StatusSeeOther)
}

// serveLogout ends the session of the browser.
func (p *Pages) serveLogout(w http.ResponseWriter, r *http.Request) {
	if p.refuseForeign(w, r) {
		return
	}
	p.setSession(w, r, "")
	http.Redirect(w, r, p.cfg.BasePath+"/", http.StatusSeeOther)
}

// setSession sets the cookie of a session; "" ends it.
func (p *Pages) setSession(w http.ResponseWriter, r *http.Request, value string) {
	c := p.cookie(r, gate.SessionCookie, value)
	if c.MaxAge = 0; value == "" { // else it ends with the browser, if that is closed
		c.MaxAge, c.Expires = -1, time.Unix(1, 0)
	}
	http.SetCookie(w, c)
}

// refuseForeign refuses what a page of another origin has sent.
func (p *Pages) refuseForeign(w http.ResponseWriter, r *http.Request) bool {
	if p.gate.Origin(r) == nil {
		return false
	}
	p.refuse(w, p.newVisit(r, page{title: "Refused"}), problem.Forbidden("the request comes from a page of another origin"))
	return true
}

// HasSession reports whether the user has logged in by the form.
func (v *visit) HasSession() bool { return v.p.gate.HasSession(v.r) }
