// Package pages is the dashboard: pages and forms on top of the API's routes.
//
// Pages are server-rendered HTML and complete without scripts; one small script reloads them
// on events. The address has all that a page shows: filters, range and time zone (tz: utc,
// local, job or a name such as Europe/Paris). While no quorum answers, a page shows its last
// data and their age; the overview and the nodes page still say which nodes vote. The content
// security policy allows only scripts and styles of this server.
package pages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
)

//go:embed templates/*.html
var templateFiles embed.FS

// pagePolicy allows only resources of this server, and no inline scripts and styles.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// A page is one page of the dashboard.
type page struct {
	path  string
	name  string // of its template
	under string // its entry of the navigation
	key   string // that leads to it, after g
	title string
	load  func(ctx context.Context, v *visit) (any, error)
}

// pages lists the pages.
func pages() []page {
	return []page{
		{"/{$}", "overview", "/", "o", "Overview", loadOverview},
		{"/jobs", "jobs", "/jobs", "j", "Jobs", loadJobs},
		{"/jobs/{job}", "job", "/jobs", "", "Job", loadJob},
		{"/ticks", "ticks", "/ticks", "r", "Runs", loadTicks},
		{"/runs/{run}", "run", "/ticks", "", "Run", loadRun},
		{"/replicas", "replicas", "/replicas", "p", "Replicas", loadReplicas},
		{"/nodes", "nodes", "/nodes", "n", "Nodes", loadNodes},
		{"/locks", "locks", "/locks", "l", "Locks and tokens", loadLocks},
		{"/configuration", "configuration", "/configuration", "c", "Configuration", loadConfiguration},
		{"/audit", "audit", "/audit", "a", "Audit", loadAudit},
	}
}

// Pages serves the dashboard.
type Pages struct {
	cfg       api.Config
	warnings  func() []string // problems of this replica, as sentences
	api       *api.API
	gate      *gate.Gate
	pages     []page
	templates map[string]*template.Template // by the name of the page
	results   lastResults
	trouble   view.Survey // of all jobs
	past      view.Survey // of those that the overview shows
	listed    view.Survey // of those that the page of jobs shows
	files     map[string]file
}

// New returns the pages, which read the API. It has the same cfg.
func New(cfg api.Config, warnings func() []string, a *api.API, g *gate.Gate) (*Pages, error) {
	p := &Pages{cfg: cfg, warnings: warnings, api: a, gate: g, pages: pages(), templates: map[string]*template.Template{}, results: lastResults{kept: map[string]known{}}, past: view.Survey{Plain: true}, listed: view.Survey{Plain: true}}
	if warnings == nil {
		p.warnings = func() []string { return nil }
	}
	names := []string{"problem", "command", "login"}
	for _, one := range p.pages {
		names = append(names, one.name)
	}
	for _, name := range names {
		t, err := template.New(name).Funcs(functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("web: page %s: %w", name, err)
		}
		p.templates[name] = t
	}
	var err error
	p.files, err = readFiles()
	return p, err
}

// Route adds the pages to the routes of the server.
func (p *Pages) Route(mux *http.ServeMux) {
	for _, one := range p.pages {
		mux.HandleFunc("GET "+one.path, func(w http.ResponseWriter, r *http.Request) { p.servePage(w, r, one) })
	}
	p.routeCommands(mux)
	mux.HandleFunc("GET /login", p.serveLogin)
	mux.HandleFunc("POST /login", p.serveLoginForm)
	mux.HandleFunc("POST /logout", p.serveLogout)
	mux.HandleFunc("GET /static/{file}", p.serveFile)
	mux.HandleFunc("POST /theme", p.serveTheme)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v, _ := p.admit(r, page{title: "Not found"}) // the same answer without the right to read
		p.refuse(w, v, problem.New(http.StatusNotFound, "not_found", "there is no page "+r.URL.Path))
	})
}

// NoUsers reports whether nobody can log in.
func (v *visit) NoUsers() bool { return v.p.gate.NoUsers() }

// servePage serves a page.
func (p *Pages) servePage(w http.ResponseWriter, r *http.Request, one page) {
	ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
	defer cancel()
	v, wrong := p.admit(r.WithContext(ctx), one)
	if wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	data, err := one.load(ctx, v)
	if err != nil {
		p.refuse(w, v, p.api.Explain(v.r, err))
		return
	}
	v.Data, v.Done = data, doneText(v.query.Get("done"))
	if tz := v.query.Get("tz"); tz != "" {
		http.SetCookie(w, p.cookie(r, zoneCookie, url.QueryEscape(tz)))
	}
	if session := p.gate.Renewed(r); session != "" {
		p.setSession(w, r, session)
	}
	p.render(w, v, http.StatusOK)
}

// admit admits a request that may read.
func (p *Pages) admit(r *http.Request, one page) (*visit, *problem.Problem) {
	v := p.newVisit(r, one)
	id, wrong := p.gate.Admit(r, identity.Viewer, "")
	if v.ID = id; wrong != nil {
		return v, wrong
	}
	var err error
	if v.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return v, problem.BadRequest("the query cannot be read: " + err.Error())
	}
	return v, v.setZone(cmp.Or(v.query.Get("tz"), v.KeptZone()))
}

func (p *Pages) newVisit(r *http.Request, one page) *visit {
	return &visit{
		p: p, address: address{p.cfg.BasePath, r.URL, url.Values{}}, times: times{Now: time.Now(), zone: time.UTC},
		r: r, page: one, Title: p.titleOf(one), ID: identity.Identity{Address: p.gate.Address(r)},
	}
}

// refuse serves the page of a problem.
func (p *Pages) refuse(w http.ResponseWriter, v *visit, wrong *problem.Problem) {
	v.page.name, v.Data = "problem", wrong
	if wrong.Head(w.Header()); p.gate.OffersSessions() && v.r.Header.Get("Authorization") == "" {
		w.Header().Del("WWW-Authenticate") // a form asks, not the browser
	}
	p.render(w, v, wrong.Status)
}

// render renders a page in memory before it sends it.
func (p *Pages) render(w http.ResponseWriter, v *visit, status int) {
	var text bytes.Buffer
	if err := p.templates[v.page.name].ExecuteTemplate(&text, "layout", v); err != nil {
		p.cfg.Logger.Error("a page could not be rendered", "page", v.page.name, "why", err)
		http.Error(w, "this page could not be rendered; the log of replica "+p.cfg.ID+" says why", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // the client may be gone
}

//go:embed static
var staticFiles embed.FS

// besides is what browsers do not need: comments on lines of their own, and indents.
var besides = regexp.MustCompile(`(?m)^[ \t]*//.*\n|^[ \t]+`)

// A file is a static file. It needs no login.
type file struct {
	text []byte
	tag  string
}

func readFiles() (map[string]file, error) {
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	files := map[string]file{}
	for _, e := range entries {
		text, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		files[e.Name()] = newFile(besides.ReplaceAll(text, nil))
	}
	icon := string(files["icon.svg"].text)
	files["icon-bad.svg"] = newFile([]byte(strings.Replace(icon, "#1f5fbf", "#c4232c", 1)))
	files["icon-warn.svg"] = newFile([]byte(strings.Replace(icon, "#1f5fbf", "#9a5a00", 1)))
	return files, nil
}

func newFile(text []byte) file {
	sum := sha256.Sum256(text)
	return file{text, hex.EncodeToString(sum[:8])}
}

// Static is the address of a static file, which changes with its content.
func (v *visit) Static(name string) string {
	return v.Base + "/static/" + name + "?v=" + v.p.files[name].tag
}

func (p *Pages) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	f, ok := p.files[name]
	if !ok {
		p.refuse(w, p.newVisit(r, page{title: "Not found"}), problem.New(http.StatusNotFound, "not_found", "there is no file "+name))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+f.tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.text))
}

// themeCookie stores the dark or light theme; without it the browser's preference applies. zoneCookie
// stores the zone of times that was used last, for addresses without one.
const (
	themeCookie = "quorate_theme"
	zoneCookie  = "quorate_tz"
)

// cookie is kept for a year.
func (p *Pages) cookie(r *http.Request, name, value string) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: p.cfg.BasePath + "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: p.gate.Secure(r)}
}

// KeptZone is the zone of times that was used last, "" if there is none that is known.
func (v *visit) KeptZone() string {
	c, err := v.r.Cookie(zoneCookie)
	if err != nil {
		return ""
	}
	tz, err := url.QueryUnescape(c.Value)
	if other := (times{}); err != nil || other.setZone(tz) != nil {
		return ""
	}
	return tz
}

// serveTheme sets the theme and redirects back.
func (p *Pages) serveTheme(w http.ResponseWriter, r *http.Request) {
	if p.refuseForeign(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
	cookie := p.cookie(r, themeCookie, "")
	switch to := r.PostFormValue("to"); to {
	case "dark", "light":
		cookie.Value = to
	default:
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, p.ownPath(r.PostFormValue("back")), http.StatusSeeOther)
}

// ownPath returns text if it is a path of this dashboard, else its first page.
func (p *Pages) ownPath(text string) string {
	base := p.cfg.BasePath + "/"
	before, _, _ := strings.Cut(text, "?")
	odd := func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }
	if !strings.HasPrefix(text, base) || strings.ContainsFunc(text, odd) || strings.Contains(before, "//") || strings.Contains(before+"/", "/../") {
		return base
	}
	return text
}

// Theme is auto, dark or light.
func (v *visit) Theme() string {
	if c, err := v.r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return "auto"
}
