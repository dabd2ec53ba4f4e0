package pages

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/ledger"
)

// An address is that of a page, and makes those of others.
type address struct {
	base  string // prefix of every path
	url   *url.URL
	query url.Values
}

// To is the address of a page. It escapes parts and keeps the time zone.
func (a address) To(parts ...string) string {
	steps := []string{a.base + parts[0]}
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
func (a address) Here() string { return a.base + a.url.RequestURI() }

// Bare is the address without the query; "" if there is no query.
func (a address) Bare() string {
	if a.url.RawQuery == "" {
		return ""
	}
	return a.base + a.url.EscapedPath()
}

// Login is the login page, which redirects back.
func (a address) Login() string {
	return a.base + "/login?back=" + url.QueryEscape(a.Here())
}

// With is this page with some values of its query replaced; "" removes a value.
func (a address) With(pairs ...string) string {
	query := url.Values{}
	for name, values := range a.query {
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
	path := a.base + a.url.EscapedPath()
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Value returns a value of the query.
func (a address) Value(name string) string { return a.query.Get(name) }

// Has reports whether the query has a value.
func (a address) Has(name, value string) bool {
	return slices.Contains(strings.Split(strings.Join(a.query[name], ","), ","), value)
}

// A pair is a name with its value.
type pair struct{ Name, Value string }

// Kept are the values of the query that a change of the time zone keeps.
func (a address) Kept() []pair {
	var list []pair
	for _, name := range slices.Sorted(maps.Keys(a.query)) {
		for _, value := range a.query[name] {
			if name != "tz" && name != "done" {
				list = append(list, pair{name, value})
			}
		}
	}
	return list
}

// Ask formats a value of a query for appending to To.
func (a address) Ask(name, value string) string {
	return join(a.To("/"), name+"="+url.QueryEscape(value))
}

// runPath is the page of a run, "" if there is none.
func (a address) runPath(e ledger.Entry) string {
	if e.Job == "" {
		return ""
	}
	return a.To("/runs", e.ID())
}

// more is the address of the next page.
func (a address) more(next *string) string {
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

// filtered is the address of a page with a query.
func (a address) filtered(path, query string) string {
	to := a.To(path)
	return to + join(to, query)
}

// join returns a query part with the separator that the path needs.
func join(path, part string) string {
	if strings.Contains(path, "?") {
		return "&" + part
	}
	return "?" + part
}
