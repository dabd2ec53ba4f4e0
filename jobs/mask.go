package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// leastSecret is the length in bytes below which a text is not masked: hiding
// every "a" or "80" would spoil the text and protect nothing.
const leastSecret = 4

// A mask hides the secrets of one run. Its zero value hides nothing.
type mask struct{ replace *strings.Replacer }

// maskable returns those of the secrets that have enough bytes to be masked.
func maskable(secrets []string, least int) []string {
	var all []string
	for _, s := range secrets {
		// Output is logged line by line, so the lines of a key are secrets too.
		all = append(append(all, s), strings.Split(s, "\n")...)
	}
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < least })
}

func newMask(secrets []string) mask {
	if len(secrets) == 0 {
		return mask{}
	}
	// The longest first: it may contain the others.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return mask{strings.NewReplacer(pairs...)}
}

// error returns err with a text that hides the secrets.
func (m mask) error(err error) error {
	if m.replace == nil || err == nil {
		return err
	}
	if skip, ok := errors.AsType[*SkipError](err); ok {
		return Skip(m.replace.Replace(skip.Reason))
	}
	if text := m.replace.Replace(err.Error()); text != err.Error() {
		return &maskedError{err: err, text: text}
	}
	return err
}

type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// logger returns l with lines that hide the secrets.
func (m mask) logger(l *slog.Logger) *slog.Logger {
	if m.replace == nil {
		return l
	}
	return slog.New(maskingHandler{l.Handler(), m})
}

type maskingHandler struct {
	slog.Handler
	mask mask
}

func (h maskingHandler) Handle(ctx context.Context, r slog.Record) error {
	masked := slog.NewRecord(r.Time, r.Level, h.mask.replace.Replace(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.mask.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

func (h maskingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return maskingHandler{h.Handler.WithAttrs(h.mask.attrs(attrs)), h.mask}
}

func (h maskingHandler) WithGroup(name string) slog.Handler {
	return maskingHandler{h.Handler.WithGroup(name), h.mask}
}

func (m mask) attrs(all []slog.Attr) []slog.Attr {
	masked := make([]slog.Attr, len(all))
	for i, a := range all {
		masked[i] = m.attr(a)
	}
	return masked
}

func (m mask) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(m.attrs(v.Group())...)}
	case slog.KindString, slog.KindAny:
		text := v.String()
		if v.Kind() == slog.KindAny {
			text = fmt.Sprint(v.Any())
		}
		if hidden := m.replace.Replace(text); hidden != text {
			return slog.String(a.Key, hidden)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
