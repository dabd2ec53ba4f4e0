package web

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/quorate/quorate/scheduler/listing"
)

//go:embed templates/*.html
var templateFiles embed.FS

// pagePolicy lets pages use what this server has, and nothing else: no script and
// no style stands in a page.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// A sheet is one page of the dashboard.
type sheet struct {
	path  string
	name  string // of its template
	under string // the entry of the navigation that it belongs to
	title string
	load  func(ctx context.Context, v *visit) (any, error)
}

// sheets lists the pages.
func sheets() []sheet {
	return []sheet{
		{"/{$}", "overview", "/", "Overview", loadOverview},
		{"/jobs", "jobs", "/jobs", "Jobs", loadJobs},
		{"/jobs/{job}", "job", "/jobs", "Job", loadJob},
		{"/ticks", "ticks", "/ticks", "Ticks", loadTicks},
		{"/runs/{run}", "run", "/ticks", "Run", loadRun},
		{"/replicas", "replicas", "/replicas", "Replicas", loadReplicas},
		{"/nodes", "nodes", "/nodes", "Nodes", loadNodes},
		{"/locks", "locks", "/locks", "Locks and tokens", loadLocks},
		{"/configuration", "configuration", "/configuration", "Configuration", loadConfiguration},
		{"/audit", "audit", "/audit", "Audit", loadAudit},
	}
}

// pages serves the dashboard.
type pages struct {
	*Server
	sheets    []sheet
	templates map[string]*template.Template // by the name of the sheet
	memory    memory
	files     map[string]file
}

func newPages(s *Server) (*pages, error) {
	p := &pages{Server: s, sheets: sheets(), templates: map[string]*template.Template{}}
	names := []string{"problem", "act"}
	for _, one := range p.sheets {
		names = append(names, one.name)
	}
	for _, name := range names {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("web: page %s: %w", name, err)
		}
		p.templates[name] = t
	}
	var err error
	p.files, err = readFiles()
	return p, err
}

// route adds the pages to the routes of the server.
func (p *pages) route(mux *http.ServeMux) {
	for _, one := range p.sheets {
		mux.HandleFunc("GET "+one.path, func(w http.ResponseWriter, r *http.Request) { p.serveSheet(w, r, one) })
	}
	p.routeActs(mux)
	mux.HandleFunc("GET /login", p.serveLogin)
	mux.HandleFunc("GET /static/{file}", p.serveFile)
	mux.HandleFunc("POST /theme", p.serveTheme)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v, _ := p.enter(r, sheet{title: "Not found"}) // who may not read either is told the same
		p.refuse(w, v, newProblem(http.StatusNotFound, "not_found", "there is no page "+r.URL.Path))
	})
}

// serveSheet answers with a page.
func (p *pages) serveSheet(w http.ResponseWriter, r *http.Request, one sheet) {
	ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
	defer cancel()
	v, wrong := p.enter(r.WithContext(ctx), one)
	if wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	data, err := one.load(ctx, v)
	if err != nil {
		p.refuse(w, v, p.explain(v.r, err))
		return
	}
	v.Data, v.Done = data, doneText(v.query.Get("done"))
	p.write(w, v, http.StatusOK)
}

// enter begins a visit of who may read.
func (p *pages) enter(r *http.Request, one sheet) (*visit, *problem) {
	v := p.visit(r, one)
	id, wrong := p.admit(r, route{role: Viewer})
	if v.ID = id; wrong != nil {
		return v, wrong
	}
	if v.query, wrong = queryOf(r); wrong != nil {
		return v, wrong
	}
	return v, v.chooseZone(v.query.Get("tz"))
}

func queryOf(r *http.Request) (url.Values, *problem) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read: " + err.Error())
	}
	return query, nil
}

func (p *pages) visit(r *http.Request, one sheet) *visit {
	return &visit{pages: p, r: r, sheet: one, Now: time.Now(), Title: one.title, zone: time.UTC, query: url.Values{}, ID: Identity{Address: p.address(r)}}
}

// refuse answers with what is wrong, and what to do.
func (p *pages) refuse(w http.ResponseWriter, v *visit, wrong *problem) {
	v.sheet.name, v.Data = "problem", wrong
	wrong.head(w.Header())
	p.write(w, v, wrong.Status)
}

// write lays a page out. It is short, so it is made before any of it is sent.
func (p *pages) write(w http.ResponseWriter, v *visit, status int) {
	text, err := p.execute(v)
	if err != nil {
		p.cfg.Logger.Error("a page could not be laid out", "page", v.sheet.name, "why", err)
		http.Error(w, "this page could not be laid out; the log of replica "+p.cfg.Replica+" says why", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // who asked may have gone
}

// lastKnown returns what read returns or, while no quorum answers, what it has
// returned last for that key.
func lastKnown[T any](v *visit, key string, read func() (T, error)) (T, error) {
	got, err := read()
	if listing.Whole(err) == nil {
		v.memory.keep(key, got, v.Now)
		return got, err
	}
	if p := problemOf(err); p == nil || p.Status < http.StatusInternalServerError {
		return got, err
	}
	kept, at, ok := v.memory.find(key)
	old, fits := kept.(T)
	if !ok || !fits {
		return got, err
	}
	v.outdated(at, err)
	return old, nil
}
