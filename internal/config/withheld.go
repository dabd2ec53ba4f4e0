package config

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/decode"
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
			if ref.kind == "env" && !slices.Contains(w.Variables, ref.name) {
				w.Variables = append(w.Variables, ref.name)
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

// A secretReference is one in a secret text, and resolves to a secret.
type secretReference struct{ kind, name string }

// secretReferences are the references in a text that may hold a secret. Of a URL the
// host and the name of a user with a password are none, so what stands for those is
// left out.
func secretReferences(text string) []secretReference {
	marked := markReferences(text)
	all := make([]secretReference, len(marked.refs))
	for i, ref := range marked.refs {
		m := reference.FindStringSubmatch(ref)
		all[i] = secretReference{m[1], m[2]}
	}
	u, err := url.Parse(marked.text)
	if err != nil || u.Host == "" {
		return all
	}
	public := u.Host
	if _, has := u.User.Password(); has {
		public += " " + u.User.Username()
	}
	var secret []secretReference
	for i, ref := range all {
		if !strings.Contains(public, marked.number(i)) {
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
		if value, err := lookUp(ref.kind, ref.name); err == nil {
			values = append(values, value)
		}
	}
	whole, err := Expand(text)
	if err != nil {
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
