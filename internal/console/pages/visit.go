package pages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
)

// A visit is one request for a page, and the data of its template.
type visit struct {
	p *Pages
	address
	times
	freshness
	r    *http.Request
	page page

	ID    identity.Identity
	Title string
	Data  any        // the content of the page
	Done  string     // confirms the command that was just requested
	Level view.Level // of the state that the title names; "": it names none
}

// asOf is the time of the data about replicas.
func (v *visit) asOf() time.Time {
	if v.Stale.IsZero() {
		return v.Now
	}
	return v.Stale
}

// then shows times as they were when the data about replicas was read.
func (v *visit) then() times {
	t := v.times
	t.Now = v.asOf()
	return t
}

// Took is how long a run took when it was read; "" if unknown.
func (v *visit) Took(r view.Run) string { return tookText(r, v.asOf()) }

// OneStore reports whether one store keeps everything, which has no votes.
func (v *visit) OneStore() bool { return v.p.cfg.Control.Health.OneStore() }

// Server is the replica that serves the page.
func (v *visit) Server() view.Host { return v.p.cfg.Host }

// titleOf is the title of a page.
func (p *Pages) titleOf(s page) string {
	if s.name == "nodes" && p.cfg.Control.Health.OneStore() {
		return "Store"
	}
	return s.title
}

// Navigation lists the links to the main pages.
func (v *visit) Navigation() []link {
	var list []link
	for _, s := range v.p.pages {
		if path := strings.TrimSuffix(s.path, "{$}"); path == s.under {
			list = append(list, link{Text: v.p.titleOf(s), Path: v.To(path), Key: s.key, Here: s.under == v.page.under})
		}
	}
	return list
}

// Tabs are the links that a phone has at hand.
func (v *visit) Tabs() []link { return v.Navigation()[:3] }

// Shape and Icon show in the title and its icon how the cluster is, if the page says so.
func (v *visit) Shape() string { return levelShapes[v.Level] }

func (v *visit) Icon() string {
	if v.Level == view.Bad || v.Level == view.Warn {
		return "icon-" + string(v.Level) + ".svg"
	}
	return "icon.svg"
}

// why explains why a part of the page could not be read. The page is shown without it.
func (v *visit) why(err error) string { return v.p.api.Explain(v.r, err).Detail }

// A link is an entry of the navigation or of a choice; Here marks that of this page. Key leads to it, after g.
type link struct {
	Text, Path, Key string
	Here            bool
}

// Choices are the possible values of a parameter of the API's route.
func (v *visit) Choices(path, name string) []string { return v.p.api.Choices(path, name) }

// Allows reports whether the user has the role.
func (v *visit) Allows(role string) bool { return v.ID.Role.Allows(identity.Role(role)) && role != "" }

// A tickRow is a row of a table of ticks.
type tickRow struct {
	Visit *visit
	Tick  view.Tick
	Job   bool // shows the job
}

// Row is a row of a tick, with its job if the table has several.
func (v *visit) Row(t view.Tick, job bool) tickRow {
	return tickRow{v, t, job}
}

// read returns the answer of a route of the API.
func read[T any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (T, error) {
	r := v.r.Clone(ctx)
	for i := 0; i+1 < len(in); i += 2 {
		r.SetPathValue(in[i], in[i+1])
	}
	key := path + "?" + query.Encode() + " " + strings.Join(in, " ") + " " + r.PathValue("job") + " " + r.PathValue("run")
	return lastKnown(v, key, func() (T, error) {
		got, err := v.p.api.Read(ctx, r, v.ID, path, query)
		if err != nil {
			return *new(T), err
		}
		return got.(T), nil
	})
}

// rows reads a page of a listing.
func rows[R any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (view.Page[R], error) {
	return read[view.Page[R]](ctx, v, path, query, in...)
}

// An address is the address of this page. Its methods return addresses of other pages.
type address struct {
	Base  string // prefix of every path
	url   *url.URL
	query url.Values
}

// To is the address of a page. It escapes parts and keeps the time zone.
func (a address) To(parts ...string) string {
	steps := []string{a.Base + parts[0]}
	for _, part := range parts[1:] {
		steps = append(steps, url.PathEscape(part))
	}
	path := strings.Join(steps, "/")
	if tz := a.query.Get("tz"); tz != "" {
		path += "?tz=" + url.QueryEscape(tz)
	}
	return path
}

// Here is the address of this page.
func (a address) Here() string { return a.Base + a.url.RequestURI() }

// WithoutQuery is the address without the query; "" if there is no query.
func (a address) WithoutQuery() string {
	if a.url.RawQuery == "" {
		return ""
	}
	return a.Base + a.url.EscapedPath()
}

// Login is the login page, which redirects back.
func (a address) Login() string {
	return a.Base + "/login?back=" + url.QueryEscape(a.Here())
}

// With is this page with some values of its query replaced; "" removes a value.
func (a address) With(pairs ...string) string {
	query := maps.Clone(a.query)
	query.Del("done")
	for pair := range slices.Chunk(pairs, 2) {
		if query.Set(pair[0], pair[1]); pair[1] == "" {
			query.Del(pair[0])
		}
	}
	path := a.Base + a.url.EscapedPath()
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Value returns a value of the query.
func (a address) Value(name string) string { return a.query.Get(name) }

// Several reports whether the query has several values of a name.
func (a address) Several(name string) bool {
	return len(strings.Split(strings.Join(a.query[name], ","), ",")) > 1
}

// Has reports whether the query has a value.
func (a address) Has(name, value string) bool {
	return slices.Contains(strings.Split(strings.Join(a.query[name], ","), ","), value)
}

// Kept are the values of the query that a change of the time zone keeps.
func (a address) Kept() url.Values {
	kept := maps.Clone(a.query)
	kept.Del("tz")
	kept.Del("done")
	return kept
}

// Query formats a value of a query for appending to To, which may have a time zone.
func (a address) Query(name, value string) string {
	separator := "?"
	if a.query.Get("tz") != "" {
		separator = "&"
	}
	return separator + name + "=" + url.QueryEscape(value)
}

// HasAny reports whether the query has a value of one of the names.
func (a address) HasAny(names ...string) bool { return len(a.only(names...)) > 0 }

// More is the address of the next page; "" if there is none.
func (a address) More(next *string) string {
	if next == nil {
		return ""
	}
	return a.With("cursor", *next)
}

// only returns the named values of the page's query.
func (a address) only(names ...string) url.Values {
	part := url.Values{}
	for _, name := range names {
		for _, value := range a.query[name] {
			if value != "" {
				part.Add(name, value)
			}
		}
	}
	return part
}

// mostKept bounds the results that are kept for outages.
const mostKept = 200

// lastResults keeps what pages read last, to show them while no quorum answers.
type lastResults struct {
	mu   sync.Mutex
	kept map[string]known
}

// A known is a result with its time.
type known struct {
	data any
	at   time.Time
}

func (m *lastResults) keep(key string, data any, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.kept[key]; !ok && len(m.kept) >= mostKept {
		delete(m.kept, slices.MinFunc(slices.Collect(maps.Keys(m.kept)), func(x, y string) int { return m.kept[x].at.Compare(m.kept[y].at) }))
	}
	m.kept[key] = known{data, now}
}

func (m *lastResults) find(key string) (data any, at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.kept[key]
	return k.data, k.at, ok
}

// A freshness records which data of a page are from an earlier time.
type freshness struct {
	mu    sync.Mutex
	Stale time.Time // of the oldest data, if it could not be read now; else zero
	Why   string    // why rows are old, or ""
}

// outdated records that data on the page is from an earlier time.
func (f *freshness) outdated(at time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Stale.IsZero() || at.Before(f.Stale) {
		f.Stale = at
	}
	f.Why = err.Error()
}

// lastKnown returns the result of read or, while no quorum answers, the last result for
// the key.
func lastKnown[T any](v *visit, key string, read func() (T, error)) (T, error) {
	got, err := read()
	if err == nil {
		v.p.results.keep(key, got, v.Now)
		return got, nil
	}
	if p := problem.Of(err, v.OneStore()); p == nil || p.Status < http.StatusInternalServerError {
		return got, err
	}
	kept, at, ok := v.p.results.find(key)
	old, fits := kept.(T)
	if !ok || !fits {
		return got, err
	}
	v.outdated(at, err)
	return old, nil
}
