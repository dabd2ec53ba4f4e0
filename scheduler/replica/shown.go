package replica

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hidden stands where a secret is.
const hidden = "***"

// secretKey matches the names of params that may hold secrets.
var secretKey = regexp.MustCompile(`(?i)passw|secret|token|authori[sz]ation|credential|api[-_]?key|cookie`)

// shown returns the configuration in a form that JSON can write, with the keys of
// the file and without secrets: references stay as they are, for they say only where
// one is.
func (c *Config) shown() any { return show(reflect.ValueOf(*c), false) }

// show returns the value with secrets hidden, if it may hold some.
func show(v reflect.Value, secret bool) any {
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
		for _, f := range fieldsOf(v.Type()) {
			all[f.key] = show(v.FieldByIndex(f.index), f.late || secret)
		}
		return all
	case reflect.Map:
		all := map[string]any{}
		for entry := v.MapRange(); entry.Next(); {
			key := fmt.Sprint(entry.Key().Interface())
			all[key] = show(entry.Value(), secret || v.Type().Elem().Kind() == reflect.Interface && secretKey.MatchString(key))
		}
		return all
	case reflect.Slice:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = show(v.Index(i), secret)
		}
		return all
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return show(v.Elem(), secret)
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

// showText hides a text that may be a secret, but for references, and the password
// of one that is a URL.
func showText(text string, secret bool) string {
	u, err := url.Parse(text)
	switch {
	case text == "" || hasReference(text):
		return text
	case err == nil && u.Host != "" && u.Scheme != "":
		return redacted(u, secret)
	case secret:
		return hidden
	}
	return text
}

// redacted is the URL without the password of its user and without its query; of one
// that may be secret, without its path.
func redacted(u *url.URL, secret bool) string {
	text := u.Scheme + "://"
	if u.User != nil {
		text += u.User.Username()
		if _, has := u.User.Password(); has {
			text += ":" + hidden
		}
		text += "@"
	}
	text += u.Host
	switch {
	case secret && strings.Trim(u.Path, "/") != "":
		text += "/" + hidden
	default:
		text += u.EscapedPath()
	}
	if u.RawQuery != "" {
		text += "?" + hidden
	}
	return text
}
