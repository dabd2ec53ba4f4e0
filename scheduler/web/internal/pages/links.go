package pages

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/web/identity"
)

// A place is an entry of the navigation.
type place struct {
	Path, Title string
	Here        bool
}

// Places lists the entries of the navigation.
func (v *visit) Places() []place {
	var list []place
	for _, s := range v.sheets {
		if path := strings.TrimSuffix(s.path, "{$}"); path == s.under {
			list = append(list, place{v.To(path), s.title, s.under == v.sheet.under})
		}
	}
	return list
}

// To is the address of a page. It escapes parts and keeps the time zone.
func (v *visit) To(parts ...string) string {
	steps := []string{v.cfg.BasePath + parts[0]}
	for _, part := range parts[1:] {
		steps = append(steps, url.PathEscape(part))
	}
	path := strings.Join(steps, "/")
	if tz := v.query.Get("tz"); tz != "" {
		path += "?tz=" + url.QueryEscape(tz)
	}
	return path
}

// Here is the address of this page.
func (v *visit) Here() string { return v.cfg.BasePath + v.r.URL.RequestURI() }

// Bare is the address without the query; "" if there is no query.
func (v *visit) Bare() string {
	if v.r.URL.RawQuery == "" {
		return ""
	}
	return v.cfg.BasePath + v.r.URL.EscapedPath()
}

// Login is the login page, which redirects back.
func (v *visit) Login() string {
	return v.cfg.BasePath + "/login?back=" + url.QueryEscape(v.Here())
}

// NoUsers reports whether nobody can log in.
func (v *visit) NoUsers() bool {
	return v.gate.NoUsers()
}

// With is this page with some values of its query replaced; "" removes a value.
func (v *visit) With(pairs ...string) string {
	query := url.Values{}
	for name, values := range v.query {
		if name != "done" {
			query[name] = values
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Del(pairs[i])
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	path := v.cfg.BasePath + v.r.URL.EscapedPath()
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Value returns a value of the query.
func (v *visit) Value(name string) string { return v.query.Get(name) }

// Has reports whether the query has a value.
func (v *visit) Has(name, value string) bool {
	return slices.Contains(strings.Split(strings.Join(v.query[name], ","), ","), value)
}

// Static is the address of a static file, which changes with its content.
func (v *visit) Static(name string) string {
	return v.cfg.BasePath + "/static/" + name + "?v=" + v.files[name].tag
}

// Base is the prefix of every path.
func (v *visit) Base() string { return v.cfg.BasePath }

// Theme is auto, dark or light.
func (v *visit) Theme() string { return themeOf(v.r) }

// Replica is the ID of the serving replica.
func (v *visit) Replica() string { return v.cfg.Replica }

// Version is its release.
func (v *visit) Version() string { return v.cfg.Version }

// May reports whether the user has the role.
func (v *visit) May(role string) bool { return v.ID.Role.Allows(identity.Role(role)) && role != "" }

// Zone names the time zone of the page.
func (v *visit) Zone() string {
	if v.local {
		return "local"
	}
	return v.zone.String()
}

// A pair is a name with its value.
type pair struct{ Name, Value string }

// Kept are the values of the query that a change of the time zone keeps.
func (v *visit) Kept() []pair {
	var list []pair
	for _, name := range slices.Sorted(maps.Keys(v.query)) {
		for _, value := range v.query[name] {
			if name != "tz" && name != "done" {
				list = append(list, pair{name, value})
			}
		}
	}
	return list
}

// Ask formats a value of a query for appending to To.
func (v *visit) Ask(name, value string) string {
	return join(v.To("/"), name+"="+url.QueryEscape(value))
}

// A tickRow is a row of a table of ticks.
type tickRow struct {
	Visit *visit
	Tick  listing.Tick
	Job   bool   // shows the job
	ID    string // of its page
}

// Row is a row of a tick, with its job if the table has several.
func (v *visit) Row(t listing.Tick, job bool) tickRow {
	row := tickRow{Visit: v, Tick: t, Job: job, ID: listing.Text(t.ID)}
	return row
}
