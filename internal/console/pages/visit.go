package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
)

// A visit is one request for a page, and the data of its template.
type visit struct {
	*Pages
	address
	times
	freshness
	r     *http.Request
	sheet sheet

	ID    identity.Identity
	Title string
	Data  any    // the content of the page
	Done  string // confirms the act that was just requested
}

// asOf is the time of the data about replicas.
func (v *visit) asOf() time.Time {
	if v.Stale.IsZero() {
		return v.Now
	}
	return v.Stale
}

// OneStore reports whether one store keeps everything, which has no votes.
func (v *visit) OneStore() bool { return v.Nodes.NodeKind() == view.KindStore }

// titleOf is the title of a sheet.
func (p *Pages) titleOf(s sheet) string {
	if s.name == "nodes" && p.Nodes.NodeKind() == view.KindStore {
		return "Store"
	}
	return s.title
}

// Places lists the entries of the navigation.
func (v *visit) Places() []place {
	var list []place
	for _, s := range v.sheets {
		if path := strings.TrimSuffix(s.path, "{$}"); path == s.under {
			list = append(list, place{v.To(path), v.titleOf(s), s.under == v.sheet.under})
		}
	}
	return list
}

// A place is an entry of the navigation.
type place struct {
	Path, Title string
	Here        bool
}

// May reports whether the user has the role.
func (v *visit) May(role string) bool { return v.ID.Role.Allows(identity.Role(role)) && role != "" }

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
	return read[api.Page[R]](ctx, v, path, query, in...)
}
