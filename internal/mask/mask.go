// Package mask hides secrets in texts: in whole ones, in those that arrive in pieces, and in
// lines of logs. Mask a text before cutting it: half a secret is not found.
package mask

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stars stand where a secret was.
const stars = "***"

// A Mask hides the secrets that it was made of. Nil hides nothing.
type Mask struct{ secrets []string }

// secretName matches names of values in the query of a URL that are secrets by themselves. Others,
// such as sslmode, have values that are common words.
var secretName = regexp.MustCompile(`(?i)key|token|secret|sig|passw|auth|cred`)

// webhookSecret matches one of several secrets in a text that signs the messages of a webhook.
var webhookSecret = regexp.MustCompile(`whsec_\S+`)

// New returns a Mask for secrets: for each as a whole, for its lines and the secrets of webhooks in
// them, as URLs, JSON, base64 and quoted text spell it and, of a URL, for its parts that may be
// secret. What has fewer bytes than least is left out, since hiding every "a" would spoil the text
// and protect nothing.
func New(secrets []string, least int) *Mask {
	var all []string
	for _, secret := range secrets {
		parts := append(strings.Split(secret, "\n"), secret)
		parts = append(parts, webhookSecret.FindAllString(secret, -1)...)
		if u, err := url.Parse(strings.TrimSpace(secret)); err == nil && u.Host != "" {
			password, _ := u.User.Password()
			parts = append(parts, u.Path, u.RequestURI(), u.RawQuery, password, u.User.String())
			for name, values := range u.Query() {
				if secretName.MatchString(name) {
					parts = append(parts, values...)
				}
			}
		}
		for _, part := range parts {
			part = strings.TrimSpace(part)
			text, _ := json.Marshal(part) // a string always encodes
			again, _ := json.Marshal(string(text[1 : len(text)-1]))
			for _, quoted := range []string{`"` + part + `"`, string(text), string(again), strconv.Quote(part), strconv.QuoteToASCII(part)} {
				quoted = quoted[1 : len(quoted)-1]
				all = append(all, quoted, strings.ReplaceAll(quoted, "/", `\/`)) // JSON of other languages
			}
			all = append(all, url.PathEscape(part), url.QueryEscape(part), (&url.URL{Path: part}).EscapedPath(),
				strings.TrimPrefix(url.UserPassword("", part).String(), ":"))
			for before := range 3 {
				text := base64Of(part, before)
				all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
			}
		}
	}
	return of(slices.DeleteFunc(all, func(s string) bool { return len(s) < least }))
}

// base64Of is how base64 spells a text after so many other bytes: what depends on the text alone. It is
// empty if that is too short to be told from other text.
func base64Of(text string, before int) string {
	if len(text) < leastBase64 {
		return ""
	}
	all := append(make([]byte, before), text...)
	return base64.RawStdEncoding.EncodeToString(all)[(before*8+5)/6 : len(all)*8/6]
}

// leastBase64 is in bytes, before encoding.
const leastBase64 = 8

// of returns a Mask for the texts as they are.
func of(secrets []string) *Mask {
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	if len(secrets) == 0 {
		return nil
	}
	return &Mask{secrets}
}

// And returns a Mask that hides what one of the two hides.
func (m *Mask) And(other *Mask) *Mask {
	switch {
	case m == nil:
		return other
	case other == nil:
		return m
	}
	return of(slices.Concat(m.secrets, other.secrets))
}

// Text returns s with stars in place of its secrets.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	spans := m.find([]byte(s))
	if len(spans) == 0 {
		return s
	}
	var text strings.Builder
	at := 0
	for _, found := range spans {
		text.WriteString(s[at:found.from] + stars)
		at = found.to
	}
	text.WriteString(s[at:])
	return text.String()
}

// A span is a part of a text that is hidden.
type span struct{ from, to int }

// find returns the secrets in text, in order. Those that overlap are one.
func (m *Mask) find(text []byte) []span {
	var all []span
	for _, secret := range m.secrets {
		for at := 0; ; at++ {
			i := bytes.Index(text[at:], []byte(secret))
			if i < 0 {
				break
			}
			at += i
			all = append(all, span{at, at + len(secret)})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.from < merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// begun returns where the end of text may be the beginning of a secret: the length of text if
// that is nowhere.
func (m *Mask) begun(text []byte) int {
	first := len(text)
	for _, secret := range m.secrets {
		for at := max(0, len(text)-len(secret)+1); at < first; at++ {
			if secret[:len(text)-at] == string(text[at:]) {
				first = at
			}
		}
	}
	return first
}

type key struct{}

// Into returns a context that carries m, for functions that cut texts.
func Into(ctx context.Context, m *Mask) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns the Mask that ctx carries.
func From(ctx context.Context) *Mask {
	m, _ := ctx.Value(key{}).(*Mask)
	return m
}

// Logger returns l with lines that hide the secrets.
func (m *Mask) Logger(l *slog.Logger) *slog.Logger {
	if m == nil {
		return l
	}
	return slog.New(handler{l.Handler(), m})
}

type handler struct {
	slog.Handler
	mask *Mask
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	masked := slog.NewRecord(r.Time, r.Level, h.mask.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.mask.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(h.mask.attrs(attrs)), h.mask}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(h.mask.Text(name)), h.mask}
}

func (m *Mask) attrs(all []slog.Attr) []slog.Attr {
	masked := make([]slog.Attr, len(all))
	for i, a := range all {
		masked[i] = m.attr(a)
	}
	return masked
}

func (m *Mask) attr(a slog.Attr) slog.Attr {
	masked := slog.Attr{Key: m.Text(a.Key), Value: a.Value.Resolve()}
	if masked.Value.Kind() == slog.KindGroup {
		masked.Value = slog.GroupValue(m.attrs(masked.Value.Group())...)
		return masked
	}
	for _, text := range spellings(masked.Value) {
		if hidden := m.Text(text); hidden != text {
			masked.Value = slog.StringValue(hidden)
			break
		}
	}
	return masked
}

// spellings are the texts that handlers may write for a value.
func spellings(v slog.Value) (texts []string) {
	if v.Kind() != slog.KindAny {
		return []string{v.String()}
	}
	texts = []string{fmt.Sprintf("%+v", v.Any())}
	defer func() { _ = recover() }() // in a method of the value: the handler meets it, too
	switch v := v.Any().(type) {
	case []byte:
		texts = append(texts, string(v))
	case encoding.TextMarshaler:
		text, _ := v.MarshalText() // none with an error
		texts = append(texts, string(text))
	}
	_, isError := v.Any().(error)
	if _, marshals := v.Any().(json.Marshaler); isError && !marshals {
		return texts
	}
	text, _ := json.Marshal(v.Any()) // none with an error
	return append(texts, string(text))
}

// leastBegun is how many bytes of a secret are hidden at the end of a text that may have been
// cut.
const leastBegun = 4

// A Writer masks a text that arrives in pieces, and passes it on. It keeps back what may be
// the beginning of a secret until it knows more.
type Writer struct {
	mask   *Mask
	to     io.Writer
	kept   []byte
	hidden int // how much of the beginning of kept has been passed on as stars
}

// Writer returns a Writer to the given one. Close it at the end of the text.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: cmp.Or(m, new(Mask)), to: to} }

// Write masks what is known to be no beginning of a secret.
func (w *Writer) Write(text []byte) (int, error) {
	w.kept = append(w.kept, text...)
	if err := w.pass(w.mask.begun(w.kept)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close passes on what was kept. What may be the beginning of a secret is hidden: the text may
// have been cut there.
func (w *Writer) Close() error {
	if err := w.pass(w.mask.begun(w.kept)); err != nil {
		return err
	}
	rest := w.kept[w.hidden:]
	if len(rest) > 0 && len(w.kept) >= leastBegun {
		rest = []byte(stars)
	}
	_, err := w.to.Write(rest)
	return err
}

// pass passes on what was kept until the given byte.
func (w *Writer) pass(until int) error {
	var masked []byte
	at := w.hidden
	for _, found := range w.mask.find(w.kept) {
		if found.from >= until {
			break
		}
		if found.from >= at {
			masked = append(append(masked, w.kept[at:found.from]...), stars...)
		}
		at = max(at, found.to)
	}
	if at < until {
		masked = append(masked, w.kept[at:until]...)
		at = until
	}
	w.kept, w.hidden = append(w.kept[:0], w.kept[until:]...), at-until
	_, err := w.to.Write(masked)
	return err
}
