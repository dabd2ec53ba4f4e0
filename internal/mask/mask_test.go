package mask

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		secrets []string
		text    string
		want    string
	}{
		"none":            {nil, "text", "text"},
		"short":           {[]string{"abc"}, "abc", "abc"},
		"twice":           {[]string{"secret"}, "a secretsecret b", "a ****** b"},
		"within another":  {[]string{"secret", "the secret key"}, "is the secret key", "is ***"},
		"overlapping":     {[]string{"abcdef", "defghi"}, "-abcdefghi-", "-***-"},
		"overlaps itself": {[]string{"abab"}, "-ababab-", "-***-"},
		"lines":           {[]string{"line one\r\nline two\n"}, "line two, line one\nline two", "***, ***\n***"},
		"of a webhook":    {[]string{"whsec_new whsec_old"}, "whsec_old, whsec_new", "***, ***"},
		"blanks around":   {[]string{"  secret\n"}, "secret", "***"},
		"quoted":          {[]string{"pa\"ss\\word"}, fmt.Sprintf("%q", "x pa\"ss\\word"), `"x ***"`},
		"as JSON":         {[]string{"a<b>&c"}, `{"x":"a\u003cb\u003e\u0026c"}`, `{"x":"***"}`},
		"in ASCII":        {[]string{"pässwörd/€"}, `"p\u00e4ssw\u00f6rd/\u20ac" and "p\u00e4ssw\u00f6rd\/\u20ac" and "pässwörd\/€"`, `"***" and "***" and "***"`},
		"quoted letters":  {[]string{"pä\x01ss<"}, fmt.Sprintf("%q", "x pä\x01ss<"), `"x ***"`},
		"in a path":       {[]string{"a b/c?", "a:b/c"}, "/x/a%20b%2Fc%3F/y and /a%20b/c%3F and /a:b%2Fc", "/x/***/y and /*** and /***"},
		"JSON in JSON":    {[]string{"pa\"ss<word>"}, `{"x":"{\"y\":\"pa\\\"ss\\u003cword\\u003e\"}"}`, `{"x":"{\"y\":\"***\"}"}`},
		"in base64":       {[]string{"hunter2-hunter3"}, "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:hunter2-hunter3")), "Basic YW5uOm***w=="},
		"base64 alone":    {[]string{"hunter2-hunter3"}, base64.StdEncoding.EncodeToString([]byte("hunter2-hunter3")), "***"},
		"base64, 1 ahead": {[]string{"hunter2-hunter3??>>"}, base64.RawURLEncoding.EncodeToString([]byte("ahunter2-hunter3??>>")), "YW***4"},
		"base64, 2 ahead": {[]string{"hunter2-hunter3"}, base64.StdEncoding.EncodeToString([]byte("abhunter2-hunter3c")), "YWJ***Nj"},
		"in a query":      {[]string{"a b&c"}, "?x=a+b%26c", "?x=***"},
		"in a user":       {[]string{"p@ss:word", "p@s s"}, "redis://u:p%40ss%3Aword@h redis://u:p%40s%20s@h", "redis://u:***@h redis://u:***@h"},
		"keys of a URL":   {[]string{"https://h/?api_key=abc%2Fdef&mode=production&sig=xyzuv"}, "bad key abc/def or signature xyzuv in production", "bad key *** or signature *** in production"},
		"parts of a URL":  {[]string{"https://me:hunter2@hooks.example.com/T0/B1?key=xyz"}, "hooks.example.com/T0/B1?*** hunter2 key=xyz /T0/B1?key=xyz", "hooks.example.com***?*** *** *** ***"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := New(tt.secrets, 4).Text(tt.text); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A text in pieces is masked as the whole is, wherever it is cut.
func TestWriterMasksAcrossPieces(t *testing.T) {
	t.Parallel()
	masks := map[string]*Mask{
		"none": nil, "one": New([]string{"secret"}, 4), "lines": New([]string{"-----BEGIN\nabcd\nefgh\n-----END"}, 4),
		"overlapping": New([]string{"abcabc", "cabcd", "abcabcabc-long"}, 4), "repeating": New([]string{"aaaa"}, 4),
	}
	texts := []string{
		"", "x", "secret", "a secretsecret and sec-secret\n", "-----BEGIN\nabcd\nefgh\n-----END\n", "-----BEGIN\nab\n",
		"abcabcabcd abcabcabc-lon abcabcabc-long.", strings.Repeat("a", 50) + "b", "aaa aaaa aaaaa\n",
	}
	for name, m := range masks {
		for _, text := range texts {
			for range 50 {
				var got bytes.Buffer
				w := m.Writer(&got)
				for rest := text; rest != ""; {
					n := 1 + rand.N(min(len(rest), 8))
					if _, err := w.Write([]byte(rest[:n])); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if want := m.Text(text); got.String() != want {
					t.Fatalf("%s: %q became %q, want %q", name, text, got.String(), want)
				}
			}
		}
	}
}

// What has no end does not pile up, and what is no secret is passed on at once.
func TestWriterKeepsLittle(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	w := New([]string{"aaaa", "bcdefg"}, 4).Writer(&got)
	for range 1000 {
		_, _ = w.Write([]byte("aaaaaaa"))
	}
	if len(w.kept) > 8 || got.String() != "***" {
		t.Errorf("keeps %d bytes, wrote %q", len(w.kept), got.String())
	}
	_, _ = w.Write([]byte("\nbcd"))
	if got.String() != "***\n" {
		t.Errorf("wrote %q", got.String())
	}
	_, _ = w.Write([]byte("x"))
	if got.String() != "***\nbcdx" {
		t.Errorf("wrote %q", got.String())
	}
}

// A text that ends within a secret shows no part of it.
func TestWriterHidesABegunSecret(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	w := New([]string{"c4n4ry-s3cret"}, 4).Writer(&got)
	_, _ = w.Write([]byte("token c4n4ry-s3c"))
	if err := w.Close(); err != nil || got.String() != "token ***" {
		t.Errorf("wrote %q, %v", got.String(), err)
	}
}

// A whole secret shows no part of itself because a longer one may have begun with it, or because
// another one hid its beginning.
func TestWriterHidesTheRestOfASecret(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ secrets, pieces []string }{
		"******":     {[]string{"xyabc", "abcdef", "abcdef-long"}, []string{"xyabc", "def"}},
		"*** in it":  {[]string{"abcdefgh", "defghijk", "defg"}, []string{"abcdefgh", " in it"}}, // one that ends before the longest does
		"*** at end": {[]string{"abcdef", "def-long"}, []string{"abcdef", " at end"}},
		"***":        {[]string{"abcdef", "def-long"}, []string{"abcdef"}}, // as short as what is no secret
	} {
		var got bytes.Buffer
		w := New(c.secrets, 4).Writer(&got)
		for _, piece := range c.pieces {
			_, _ = w.Write([]byte(piece))
		}
		if err := w.Close(); err != nil || got.String() != want {
			t.Errorf("%q: wrote %q, %v, want %q", c.pieces, got.String(), err, want)
		}
	}
}

// What the text cannot be passed on to says so, in the middle and at the end of the text.
func TestWriterTellsErrors(t *testing.T) {
	t.Parallel()
	to := func() *Writer {
		reader, writer := io.Pipe()
		_ = reader.Close()
		return New([]string{"secret"}, 4).Writer(writer)
	}
	if _, err := to().Write([]byte("text")); err == nil {
		t.Error("Write hides the error")
	}
	w := to()
	_, _ = w.Write([]byte("secre"))
	if err := w.Close(); err == nil {
		t.Error("Close hides the error")
	}
}

// Two masks hide what either does, and none hides nothing.
func TestAnd(t *testing.T) {
	t.Parallel()
	one, other := New([]string{"first"}, 4), New([]string{"second"}, 4)
	for _, c := range []struct {
		mask *Mask
		want string
	}{{one.And(other), "*** ***"}, {one.And(nil), "*** second"}, {(*Mask)(nil).And(other), "first ***"}, {(*Mask)(nil).And(nil), "first second"}} {
		if got := c.mask.Text("first second"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

type marshals struct{ text string }

func (m marshals) MarshalJSON() ([]byte, error) { return []byte(`"` + m.text + `"`), nil }
func (m marshals) String() string               { return "harmless" }

type texts struct{ text string }

func (m texts) MarshalText() ([]byte, error) { return []byte(m.text), nil }
func (m texts) String() string               { return "harmless" }

type jsonError struct{ marshals }

func (jsonError) Error() string { return "harmless" }

type textError struct{ texts }

func (textError) Error() string { return "harmless" }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

// Whatever form a secret has in a log line, no handler writes it.
func TestLoggerMasksEveryForm(t *testing.T) {
	t.Parallel()
	const secret = "1234567890"
	text := secret
	values := map[string]any{
		"text": secret, "number": 1234567890, "bytes": []byte(secret), "pointer": struct{ P *string }{&text}, "list": []string{secret},
		"json": marshals{secret}, "marshaler": texts{secret}, "error": fmt.Errorf("x %s", secret), "map": map[string]string{secret: "x"},
		"error with JSON": jsonError{marshals{secret}}, "error with text": textError{texts{secret}},
		"group": slog.GroupValue(slog.String(secret, "x"), slog.Any("deep", []byte(secret))),
	}
	for name, value := range values {
		for kind, to := range map[string]func(*bytes.Buffer) slog.Handler{
			"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var log bytes.Buffer
			New([]string{secret}, 4).Logger(slog.New(to(&log))).With(secret, "key").WithGroup(secret).Info("said "+secret, name, value, "panics", panics{})
			if strings.Contains(log.String(), secret) || strings.Contains(log.String(), "MTIzNDU2Nzg5MA") || !strings.Contains(log.String(), "said ***") {
				t.Errorf("%s, %s: %s", name, kind, log.String())
			}
		}
	}
}
