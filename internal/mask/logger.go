package mask

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
)

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
