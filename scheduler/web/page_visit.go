package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A visit is one request for a page, and what the templates are given.
type visit struct {
	*pages
	r     *http.Request
	sheet sheet
	query url.Values
	zone  *time.Location
	local bool // the browser's zone, if it runs scripts

	// Now is when the page was asked for, Data what it shows.
	Now   time.Time
	ID    Identity
	Title string
	Data  any
	// Done is what was asked for just before, in words.
	Done string

	mu    sync.Mutex
	stale time.Time // of the oldest thing shown, if it could not be read now
	why   string    // rows are missing, or old
}

// execute lays the page out.
func (p *pages) execute(v *visit) ([]byte, error) {
	var b bytes.Buffer
	err := p.templates[v.sheet.name].ExecuteTemplate(&b, "layout", v)
	return b.Bytes(), err
}

// outdated notes that something is shown as it was at a time.
func (v *visit) outdated(at time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stale.IsZero() || at.Before(v.stale) {
		v.stale = at
	}
	v.why = err.Error()
}

// missing notes why rows are missing.
func (v *visit) missing(why *string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.why == "" {
		v.why = listing.Text(why)
	}
}

// Stale is since when what is shown has not been read; zero if it was read now.
func (v *visit) Stale() time.Time { return v.stale }

// asOf is when what is shown was read: nobody knows more of the replicas.
func (v *visit) asOf() time.Time {
	if v.stale.IsZero() {
		return v.Now
	}
	return v.stale
}

// Why says why rows are missing or old, "" if none are.
func (v *visit) Why() string { return v.why }

// chooseZone takes the zone that times are shown in: utc, local, job, or a name.
func (v *visit) chooseZone(text string) *problem {
	switch strings.ToLower(text) {
	case "", "utc", "job":
		return nil
	case "local":
		v.local = true
		return nil
	}
	zone, err := scheduler.LoadZone(text)
	if err != nil {
		return badRequest("tz: " + err.Error())
	}
	v.zone = zone
	return nil
}

// ofJob shows times in the zone of a job, if that was asked for.
func (v *visit) ofJob(zone *string) {
	if strings.EqualFold(v.query.Get("tz"), "job") && zone != nil {
		if at, err := scheduler.LoadZone(*zone); err == nil {
			v.zone = at
		}
	}
}

// api returns what a route of the API answers: pages show what programs read.
func api[T any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (T, error) {
	r := v.r.Clone(ctx)
	r.URL.RawQuery = query.Encode()
	for i := 0; i+1 < len(in); i += 2 {
		r.SetPathValue(in[i], in[i+1])
	}
	c := &call{Server: v.Server, r: r, id: v.ID}
	for _, rt := range v.Server.api {
		if rt.path == path && rt.method == http.MethodGet {
			c.route = rt
		}
	}
	key := path + "?" + r.URL.RawQuery + " " + strings.Join(in, " ") + " " + r.PathValue("job") + " " + r.PathValue("run")
	return lastKnown(v, key, func() (T, error) {
		var none T
		if wrong := c.parse(); wrong != nil {
			return none, &listing.InvalidError{Msg: wrong.Detail}
		}
		got, err := c.route.answer(ctx, c)
		if err != nil {
			return none, err
		}
		return got.(T), nil
	})
}

// rows are those of a page of a listing.
func rows[R any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (page[R], error) {
	p, err := api[page[R]](ctx, v, path, query, in...)
	v.missing(p.Partial)
	return p, err
}

// only is the part of the page's own query that the API is asked with.
func (v *visit) only(names ...string) url.Values {
	part := url.Values{}
	for _, name := range names {
		for _, value := range v.query[name] {
			if value != "" {
				part.Add(name, value)
			}
		}
	}
	return part
}
