package config

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
)

// hidden stands where a secret is.
const hidden = "***"

// secretKey matches the names of params that may hold secrets.
var secretKey = regexp.MustCompile(`(?i)pass|pwd|secret|token|authori[sz]ation|credential|cookie|private|dsn|(^|[^a-z])key$|api[-_]?key`)

// harmlessKey matches the names under env and headers whose values are no secrets:
// for any other name nobody can tell.
var harmlessKey = regexp.MustCompile(`(?i)^(path|home|tz|lang|lc_[a-z]+|shell|user|pwd|tmpdir|term|editor|hostname|log_level|` +
	`accept|accept-language|cache-control|content-type|host|user-agent)$`)

// holdsSecrets reports whether the values of a map may be secrets by where it is.
func holdsSecrets(name string) bool { return name == "env" || name == "headers" }

// secretEntry reports whether the value of an entry of params may be a secret; name is
// that of the map.
func secretEntry(name, key string) bool {
	if holdsSecrets(name) {
		return !harmlessKey.MatchString(key)
	}
	return secretKey.MatchString(key)
}

// Shown returns the configuration in a form that JSON can write, with the keys of
// the file and without secrets.
func (c *Config) Shown() any { return show(reflect.ValueOf(*c), "", false) }

// show returns the value that is called name with secrets hidden, if it may hold some.
func show(v reflect.Value, name string, secret bool) any {
	switch in := v.Interface().(type) {
	case time.Duration:
		return short(in)
	case time.Time:
		if in.IsZero() {
			return ""
		}
		return in.Format(time.RFC3339)
	case fmt.Stringer:
		return in.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		all := map[string]any{}
		for _, f := range decode.Fields(v.Type()) {
			all[f.Name] = show(v.FieldByIndex(f.Index), f.Name, isLate(f.Tag) || secret)
		}
		return all
	case reflect.Map:
		all := map[string]any{}
		for entry := v.MapRange(); entry.Next(); {
			key := fmt.Sprint(entry.Key().Interface())
			all[key] = show(entry.Value(), key, secret || v.Type().Elem().Kind() == reflect.Interface && secretEntry(name, key))
		}
		return all
	case reflect.Slice:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = show(v.Index(i), name, secret)
		}
		return all
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return show(v.Elem(), name, secret)
	case reflect.String:
		return showText(v.String(), secret)
	}
	return showPlain(v, secret)
}

func showPlain(v reflect.Value, secret bool) any {
	switch {
	case secret && !v.IsZero():
		return hidden
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64) // also those that JSON has no form for
	}
	return v.Interface()
}

// urlWithSecret matches what is written as a URL with a user or a query.
var urlWithSecret = regexp.MustCompile(`(?s)^\s*\S+://.*[@?]`)

// showText hides a text that may be a secret, and the password of one that is a URL.
// References stay: they say only where a secret is.
func showText(text string, secret bool) string {
	marked := markReferences(text)
	u, err := url.Parse(marked.text)
	switch {
	case err == nil && u.Host != "" && u.Scheme != "":
		return marked.redacted(u, secret)
	case secret, err != nil && urlWithSecret.MatchString(marked.text):
		return marked.hidden(marked.text)
	}
	return text
}

// redacted is the URL that was parsed without the password of its user and without its
// query; of one that may be secret, without its path and a user that has no password.
func (m markedText) redacted(u *url.URL, secret bool) string {
	text := u.Scheme + "://"
	if u.User != nil {
		password, has := u.User.Password()
		switch {
		case has:
			text += m.shown(u.User.Username()) + ":" + m.hidden(password)
		case secret: // it may be a token
			text += m.hidden(u.User.Username())
		default:
			text += m.shown(u.User.Username())
		}
		text += "@"
	}
	text += m.shown(u.Host)
	if path, below := strings.CutPrefix(u.EscapedPath(), "/"); secret && below {
		text += "/" + m.hidden(strings.Trim(path, "/"))
	} else {
		text += m.shown(u.EscapedPath())
	}
	if u.RawQuery != "" {
		text += "?" + m.hidden(u.RawQuery)
	}
	return text
}
