package config

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
)

// Withheld are the secrets of the configuration besides those in params of jobs: no
// job needs them.
func (c *Config) Withheld() *jobs.Withheld {
	var texts []string
	collectSecrets(reflect.ValueOf(*c), "", false, func(text string) { texts = append(texts, text) })
	if len(texts) == 0 {
		return nil
	}
	w := &jobs.Withheld{Values: func() []string {
		var values []string
		for _, text := range texts {
			values = append(values, secretsIn(text)...)
		}
		return values
	}}
	for _, text := range texts {
		for _, ref := range secretReferences(text) {
			if ref.Kind == "env" && !slices.Contains(w.Variables, ref.Name) {
				w.Variables = append(w.Variables, ref.Name)
			}
		}
	}
	return w
}

// collectSecrets calls found with each text that may hold a secret: it is resolved
// late, and neither a user's name nor a header that is harmless.
func collectSecrets(v reflect.Value, name string, late bool, found func(text string)) {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range decode.Fields(v.Type()) {
			collectSecrets(v.FieldByIndex(f.Index), f.Name, (isLate(f.Tag) || late) && f.Name != "username", found)
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			key := fmt.Sprint(entry.Key().Interface())
			harmless := holdsSecrets(name) && harmlessKey.MatchString(key)
			collectSecrets(entry.Value(), key, late && !harmless, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectSecrets(v.Index(i), name, late, found)
		}
	case reflect.String:
		if late && v.String() != "" {
			found(v.String())
		}
	}
}

// secretReferences are the references in a text that may hold a secret. Of a URL the
// host and the name of a user with a password are none, so what stands for those is
// left out.
func secretReferences(text string) []refs.Part {
	marked := markReferences(text)
	public := ""
	if u, err := url.Parse(marked.text); err == nil && u.Host != "" {
		public = u.Host
		if _, has := u.User.Password(); has {
			public += " " + u.User.Username()
		}
	}
	var secret []refs.Part
	for i, ref := range marked.refs {
		if !ref.Plain && !strings.Contains(public, marked.number(i)) {
			secret = append(secret, ref)
		}
	}
	return secret
}

// credentials matches a header's way to log in before the secret itself.
var credentials = regexp.MustCompile(`(?i)^(basic|bearer|token)\s+`)

// secretsIn returns the secrets in a text as they are now. What cannot be read is left
// out: who needs it says so.
func secretsIn(text string) []string {
	var values []string
	for _, ref := range secretReferences(text) {
		if value, err := ref.Value(); err == nil {
			values = append(values, value)
		}
	}
	whole, err := Expand(text)
	parts, _ := refs.Split(text)
	if err != nil || !slices.ContainsFunc(parts, func(p refs.Part) bool { return !p.Plain }) {
		return values
	}
	u, err := url.Parse(whole)
	if err != nil || u.Host == "" {
		return append(values, whole, credentials.ReplaceAllString(whole, ""))
	}
	if password, has := u.User.Password(); has {
		_, escaped, _ := strings.Cut(u.User.String(), ":")
		values = append(values, password, escaped)
	}
	return values
}
