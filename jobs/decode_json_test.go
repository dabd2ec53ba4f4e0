package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A size is a struct with defaults and checks of its own.
type size struct{ W, H int }

func (s *size) UnmarshalJSON(text []byte) error {
	in := struct{ W, H int }{1, 1}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.W < 1 {
		return errors.New("the width must be positive")
	}
	*s = in
	return nil
}

// A word decodes itself from text, also as a key.
type word struct{ text string }

func (w *word) UnmarshalText(text []byte) error {
	if w.text = strings.ToUpper(string(text)); w.text == "BAD" {
		return errors.New("no such word")
	}
	return nil
}

// A both prefers JSON, as encoding/json does.
type both struct{ from string }

func (b *both) UnmarshalJSON(text []byte) error { b.from = "json " + string(text); return nil }
func (b *both) UnmarshalText(text []byte) error { b.from = "text " + string(text); return nil }

type Left struct {
	Same   string `json:"same"`
	Tagged string `json:"tagged"`
	OfLeft string `json:"of_left"`
	Deeper
}

type Right struct {
	Same   string `json:"same"`
	Tagged string
	Deep   string `json:"deep"`
}

type Deeper struct {
	Deep string `json:"deep"`
}

type promoting struct {
	size
	Lost string `json:"lost"`
}

type shape interface{ area() int }

type square struct {
	Side int `json:"side"`
}

func (s *square) area() int { return s.Side * s.Side }

type likeJSON struct {
	Left
	*Right
	Size     size            `json:"size"`
	SizePtr  *size           `json:"size_ptr"`
	Sizes    []size          `json:"sizes"`
	SizeOf   map[string]size `json:"size_of"`
	Promoted promoting       `json:"promoted"`
	Word     word            `json:"word"`
	Both     both            `json:"both"`
	Raw      json.RawMessage `json:"raw"`
	RawPtr   *json.RawMessage
	Bytes    []byte             `json:"bytes"`
	Named    named              `json:"named"`
	Number   json.Number        `json:"number"`
	Big      big.Int            `json:"big"`
	Three    [3]int             `json:"three"`
	Words    map[word]int       `json:"words"`
	Addrs    map[netip.Addr]int `json:"addrs"`
	Ints     map[int8]string    `json:"ints"`
	Uints    map[uint8]string   `json:"uints"`
	Quoted   int                `json:"quoted,string"`
	QuotedOK *bool              `json:"quoted_ok,string,omitempty"`
	QuotedF  float64            `json:"quoted_f,omitempty,string"`
	Dash     string             `json:"-,"` //nolint:staticcheck // the key is meant
	Shape    shape              `json:"shape"`
	Any      any                `json:"any"`
	PtrPtr   **int              `json:"ptr_ptr"`
}

type named []uint8

func (p *likeJSON) SetDefaults() { p.Shape, p.Any = new(square), &size{7, 7} }

// Params decode as encoding/json decodes them.
func TestParamsDecodeAsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"size": {"W": 2}}`, `{"size_ptr": {"h": 3}}`, `{"sizes": [{"W": 2}, {}]}`, `{"size_of": {"a": {}, "b": {"H": 2}}}`,
		`{"promoted": {"W": 3, "lost": "x"}}`, `{"word": "a"}`, `{"both": "a"}`, `{"both": {"x":[1,"<&>"]}}`,
		`{"raw": {"a":[1,null,"<b>",true,1.5]}}`, `{"raw": "x"}`, `{"RawPtr": [1]}`, `{"bytes": "aGVsbG8="}`, `{"bytes": [104, 105]}`, `{"named": "aGk="}`, `{"bytes": ""}`,
		`{"number": 5}`, `{"number": 1.5}`, `{"number": "7"}`, `{"big": 123}`, `{"three": [1, 2, 3]}`, `{"three": [1]}`,
		`{"words": {"a": 1, "b": 2}}`, `{"addrs": {"10.0.0.1": 1}}`, `{"ints": {"-5": "x"}}`, `{"uints": {"5": "x"}}`,
		`{"quoted": "5"}`, `{"quoted_ok": "true"}`, `{"quoted_f": "1.5"}`, `{"-": "x"}`,
		`{"tagged": "x", "of_left": "y", "deep": "z"}`, `{"shape": {"side": 3}}`, `{"any": {"W": 3}}`, `{"ptr_ptr": 5}`,
	} {
		params, err := decodeText(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeParams[likeJSON](params, Limits{}, decoder{})
		var want likeJSON
		want.SetDefaults()
		if jsonErr := json.Unmarshal([]byte(text), &want); jsonErr != nil {
			t.Fatalf("%s: %v", text, jsonErr)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// decodeText returns JSON as a tree of values as requests have it.
func decodeText(text string) (tree, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var params tree
	err := d.Decode(&params)
	return plainNumbers(params).(tree), err
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case tree:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	}
	return v
}

// What encoding/json refuses, or drops without a word, is a mistake with its place.
func TestParamsThatJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"size": {"W": 0}}`:           "size: the width must be positive",
		`{"size_ptr": {"W": 0}}`:       "size_ptr: the width must be positive",
		`{"sizes": [{}, {"W": "x"}]}`:  "sizes.1: json: cannot unmarshal string",
		`{"size_of": {"a": {"W": 0}}}`: "size_of.a: the width must be positive",
		`{"size": 5}`:                  "size: json: cannot unmarshal number",
		`{"word": "bad"}`:              "word: no such word",
		`{"word": 5}`:                  "word: is a whole number: want a string, write it in quotes",
		`{"words": {"bad": 1}}`:        "words.bad: no such word",
		`{"ints": {"300": "x"}}`:       "ints.300: is no whole number of the type int8",
		`{"ints": {"x": "x"}}`:         "ints.x: ",
		`{"bytes": "not base64!"}`:     "bytes: is not base64",
		`{"bytes": [256]}`:             "bytes.0: 256 is out of range: want 0 to 255",
		`{"three": [1, 2, 3, 4]}`:      "three: has 4 elements: want at most 3",
		`{"number": "x"}`:              "number: is a string: want a number",
		`{"quoted": "x"}`:              "quoted: is a string: want a whole number",
		`{"quoted": true}`:             "quoted: is a boolean: want a whole number",
		`{"same": "x"}`:                "same: unknown key",
		`{"shape": {"sid": 3}}`:        `shape.sid: unknown key: did you mean "side"?`,
		`{"Dash": "x"}`:                "Dash: unknown key",
	} {
		params, err := decodeText(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeParams[likeJSON](params, Limits{}, decoder{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A params type may decode itself as a whole, and then it is called without params, too.
func TestParamsTypeDecodesItself(t *testing.T) {
	t.Parallel()
	if got, err := decodeParams[size](nil, Limits{}, decoder{}); err != nil || got != (size{1, 1}) {
		t.Errorf("no params: %+v, %v", got, err)
	}
	if got, err := decodeParams[size](tree{"W": 2}, Limits{}, decoder{}); err != nil || got != (size{2, 1}) {
		t.Errorf("params: %+v, %v", got, err)
	}
	if _, err := decodeParams[size](tree{"W": 0}, Limits{}, decoder{}); err == nil || err.Error() != "the width must be positive" {
		t.Errorf("bad params: %v", err)
	}
	var raw json.RawMessage
	r := NewRegistry()
	Register(r, "f", func(_ context.Context, _ Run, p json.RawMessage) error { raw = p; return nil })
	h, err := r.Bind("f", tree{"a": "${env:X}", "at": time.Unix(0, 0).UTC()}, Limits{Resolve: func(string) (string, error) { return "<x>", nil }})
	if err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	if err := h(t.Context(), Run{}); err != nil || string(raw) != `{"a":"<x>","at":"1970-01-01T00:00:00Z"}` {
		t.Errorf("got %s, %v", raw, err)
	}
}

// References in what decodes itself are resolved first, and its checks see their values.
func TestReferencesInTypesThatDecodeThemselves(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	var got likeJSON
	Register(r, "f", func(_ context.Context, _ Run, p likeJSON) error { got = p; return nil })
	value := "YWJj"
	h, err := r.Bind("f", tree{"raw": tree{"a": []any{"${env:X}", "$${env:Y}"}}, "bytes": "${env:X}", "both": "${env:X}", "quoted": "${env:N}"},
		Limits{Resolve: func(ref string) (string, error) {
			if ref == "${env:N}" {
				return "12", nil
			}
			return value, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h(t.Context(), Run{}); err != nil || string(got.Raw) != `{"a":["YWJj","${env:Y}"]}` || string(got.Bytes) != "abc" || got.Both.from != `json "YWJj"` || got.Quoted != 12 {
		t.Errorf("got %s, %q, %q, %d, %v", got.Raw, got.Bytes, got.Both.from, got.Quoted, err)
	}
	value = "secret-no-base64"
	if err := h(t.Context(), Run{}); err == nil || strings.Contains(fmt.Sprint(err), value) {
		t.Errorf("got %v", err)
	}
}
