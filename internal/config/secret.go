package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// hasReference reports whether text may be another text when it is used.
func hasReference[T ~string](text T) bool { return len(refs.In(string(text))) > 0 }

// hideValues removes the values of references, but for ${plain:…}, from all messages: a value may be a secret,
// also in the wrong place. The message about a text with references names these, and keeps its words only if
// they contain no part of a value. In other messages the references replace their values.
func (ps *problems) hideValues() {
	if ps.origin == nil || len(ps.list) == 0 {
		return
	}
	byValue := valuesBelow(ps.origin.tree)
	if len(byValue) == 0 {
		return
	}
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Keys(byValue), func(a, b string) int { return len(b) - len(a) }) {
		if len(value) >= leastHidden {
			pairs = append(pairs, value, byValue[value])
		}
	}
	references := strings.NewReplacer(pairs...)
	otherSpellings := mask.New(slices.Collect(maps.Keys(byValue)), leastHidden)
	for i := range ps.list {
		problem := &ps.list[i]
		text, at := textAt(ps.origin.tree, problem.path)
		values := secretValues(text)
		if len(values) > 0 { // the rest of the path may come from a value
			problem.Path = at.String()
		}
		if !strings.HasPrefix(problem.Msg, "warning: ") {
			problem.Msg = withoutValues(problem.Msg, values)
		}
		problem.Msg = otherSpellings.Text(references.Replace(problem.Msg))
	}
}

// withoutValues returns a message without the values of references.
func withoutValues(msg string, values map[string]string) string {
	what, advice, _ := strings.Cut(msg, "; ")
	if len(values) == 0 || !mayHold(what, values) {
		return msg
	}
	for value := range values { // the advice may be a part of it
		if strings.Contains(value, ";") || strings.Contains(advice, value) {
			advice = ""
		}
	}
	what = fmt.Sprintf("is refused with what %s stands for, which is not shown", strings.Join(slices.Sorted(maps.Values(values)), " and "))
	if advice != "" {
		what += "; " + advice
	}
	return what
}

// mayHold reports whether a message may have a part of a value, or a number in another form.
func mayHold(msg string, values map[string]string) bool {
	if strings.ContainsAny(msg, "\"`0123456789") {
		return true
	}
	msg = strings.ToLower(msg)
	for value := range values {
		value = strings.ToLower(value)
		for from := range max(1, len(value)-leastHidden+1) {
			if strings.Contains(msg, value[from:min(len(value), from+leastHidden)]) {
				return true
			}
		}
	}
	return false
}

// leastHidden is the length in bytes below which a value is not looked for in messages about other
// settings: they would be full of it.
const leastHidden = 4

// valuesBelow are the secretValues of all texts in a tree.
func valuesBelow(tree map[string]any) map[string]string {
	all := map[string]string{}
	for _, text := range decode.Texts(tree, nil) {
		maps.Copy(all, secretValues(text))
	}
	return all
}

// secretValues are the values of the references in a text that may be secrets, with these; none if one of
// the references has no value: a message is about that then, and no value was used.
func secretValues(text string) map[string]string {
	values := map[string]string{}
	for _, ref := range refs.In(text) {
		value, err := ref.Value()
		switch {
		case err != nil:
			return nil
		case !ref.Plain && value != "":
			values[value] = ref.Text
		}
	}
	return values
}

// textAt returns the text that was written at p, or around it, and where that is; empty if there is none.
func textAt(tree any, p path) (string, path) {
	for n, step := range p {
		switch in := tree.(type) {
		case string:
			return in, p[:n]
		case map[string]any:
			tree = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return "", p
			}
			tree = in[i]
		}
	}
	text, _ := tree.(string)
	return text, p
}

// Withheld are the secrets of the configuration besides those in params of jobs: no
// job needs them.
func (c *Config) Withheld() *jobs.Withheld {
	var texts []string
	c.visit(nil, reflect.ValueOf(c), "", func(p path, v reflect.Value, _ reflect.StructTag) {
		key := p[len(p)-1]
		harmless := key == "username" || len(p) > 1 && holdsSecrets(p[len(p)-2]) && harmlessKey.MatchString(key)
		if secret, ok := reflect.TypeAssert[settings.Secret](v); ok && secret != "" && !harmless {
			texts = append(texts, string(secret))
		}
	})
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
		for _, ref := range refs.SecretRefs(text) {
			if ref.Kind == "env" && !slices.Contains(w.Variables, ref.Name) {
				w.Variables = append(w.Variables, ref.Name)
			}
		}
	}
	return w
}

// credentials matches a header's way to log in before the secret itself.
var credentials = regexp.MustCompile(`(?i)^(basic|bearer|token)\s+`)

// secretsIn returns the secrets in a text as they are now. It leaves out those that cannot be
// read: their users report that.
func secretsIn(text string) []string {
	var values []string
	for _, ref := range refs.SecretRefs(text) {
		if value, err := ref.Value(); err == nil {
			values = append(values, value)
		}
	}
	whole, err := refs.Resolve(text)
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
