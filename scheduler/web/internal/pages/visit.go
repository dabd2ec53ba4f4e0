package pages

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/schedule"
	"github.com/quorate/quorate/scheduler/web/identity"
	"github.com/quorate/quorate/scheduler/web/internal/api"
	"github.com/quorate/quorate/scheduler/web/internal/problem"
)

// A visit is one request for a page, and the data of its template.
type visit struct {
	*Pages
	r     *http.Request
	sheet sheet
	query url.Values
	zone  *time.Location
	local bool // show times in the browser's zone, by script

	// Now is the time of the request, Data the content of the page.
	Now   time.Time
	ID    identity.Identity
	Title string
	Data  any
	// Done confirms the act that was just requested.
	Done string

	mu    sync.Mutex
	stale time.Time // of the oldest data, if it could not be read now
	why   string    // rows are missing or old
}

// execute renders the page.
func (p *Pages) execute(v *visit) ([]byte, error) {
	var b bytes.Buffer
	err := p.templates[v.sheet.name].ExecuteTemplate(&b, "layout", v)
	return b.Bytes(), err
}

// outdated records that data on the page is from an earlier time.
func (v *visit) outdated(at time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stale.IsZero() || at.Before(v.stale) {
		v.stale = at
	}
	v.why = err.Error()
}

// missing records why rows are missing.
func (v *visit) missing(why *string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.why == "" {
		v.why = listing.Text(why)
	}
}

// Stale is the time of the oldest data on the page; zero if all is current.
func (v *visit) Stale() time.Time { return v.stale }

// asOf is the time of the data about replicas.
func (v *visit) asOf() time.Time {
	if v.stale.IsZero() {
		return v.Now
	}
	return v.stale
}

// Why is why rows are missing or old, or "".
func (v *visit) Why() string { return v.why }

// chooseZone sets the time zone of the page: utc, local, job, or a name.
func (v *visit) chooseZone(text string) *problem.Problem {
	switch strings.ToLower(text) {
	case "", "utc", "job":
		return nil
	case "local":
		v.local = true
		return nil
	}
	zone, err := schedule.LoadZone(text)
	if err != nil {
		return problem.BadRequest("tz: " + err.Error())
	}
	v.zone = zone
	return nil
}

// ofJob sets the job's time zone if the query asks for it.
func (v *visit) ofJob(zone *string) {
	if strings.EqualFold(v.query.Get("tz"), "job") && zone != nil {
		if at, err := schedule.LoadZone(*zone); err == nil {
			v.zone = at
		}
	}
}

// read returns the answer of a route of the API.
func read[T any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (T, error) {
	r := v.r.Clone(ctx)
	for i := 0; i+1 < len(in); i += 2 {
		r.SetPathValue(in[i], in[i+1])
	}
	key := path + "?" + query.Encode() + " " + strings.Join(in, " ") + " " + r.PathValue("job") + " " + r.PathValue("run")
	return lastKnown(v, key, func() (T, error) {
		got, err := v.api.Read(ctx, r, v.ID, path, query)
		if err != nil {
			var none T
			return none, err
		}
		return got.(T), nil
	})
}

// rows reads a page of a listing.
func rows[R any](ctx context.Context, v *visit, path string, query url.Values, in ...string) (api.Page[R], error) {
	p, err := read[api.Page[R]](ctx, v, path, query, in...)
	v.missing(p.Partial)
	return p, err
}

// only returns the named values of the page's query.
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
