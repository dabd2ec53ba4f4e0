package jobs

import (
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Depth int `json:"depth"`
}

// Embedded is exported so that a nil pointer to it can be set.
type Embedded struct {
	Shared string `json:"shared"`
	Name   string `json:"name"` // hidden by the outer one
}

type pair struct{ Left, Right string }

func (p *pair) UnmarshalParam(v any) error {
	s, _ := v.(string)
	var ok bool
	if p.Left, p.Right, ok = strings.Cut(s, "/"); !ok {
		return errors.New("want LEFT/RIGHT")
	}
	return nil
}

type everything struct {
	Embedded
	Name       string         `json:"name"`
	Plain      string         // known by its name, in any case
	Hidden     string         `json:"-"`
	Flag       bool           `json:"flag"`
	I8         int8           `json:"i8"`
	U8         uint8          `json:"u8"`
	I64        int64          `json:"i64"`
	U64        uint64         `json:"u64"`
	F32        float32        `json:"f32"`
	F64        float64        `json:"f64"`
	Wait       time.Duration  `json:"wait"`
	At         time.Time      `json:"at"`
	IP         netip.Addr     `json:"ip"`
	Pair       pair           `json:"pair"`
	Ptr        *int           `json:"ptr"`
	In         inner          `json:"in"`
	InPtr      *inner         `json:"in_ptr"`
	List       []string       `json:"list"`
	Numbers    map[string]int `json:"numbers"`
	Any        any            `json:"any"`
	Nested     map[string][]inner
	Chan       chan int           `json:"chan"`
	FloatKeys  map[float64]string `json:"float_keys"`
	unexported string             //nolint:unused // its key must be refused
}

type tree = map[string]any

func decodeEverything(params tree) (everything, error) {
	return decodeParams[everything](params, Limits{}, decoder{})
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	seven := 7
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		params tree
		want   everything
	}{
		"nothing":            {nil, everything{}},
		"string":             {tree{"name": "a"}, everything{Name: "a"}},
		"name in any case":   {tree{"pLAIN": "a"}, everything{Plain: "a"}},
		"embedded":           {tree{"shared": "a"}, everything{Embedded: Embedded{Shared: "a"}}},
		"bool":               {tree{"flag": true}, everything{Flag: true}},
		"least int8":         {tree{"i8": -128}, everything{I8: -128}},
		"most uint8":         {tree{"u8": 255}, everything{U8: 255}},
		"int64 from uint64":  {tree{"i64": uint64(math.MaxInt64)}, everything{I64: math.MaxInt64}},
		"most uint64":        {tree{"u64": uint64(math.MaxUint64)}, everything{U64: math.MaxUint64}},
		"float from int":     {tree{"f64": 3}, everything{F64: 3}},
		"float from uint":    {tree{"f64": uint64(3)}, everything{F64: 3}},
		"float32":            {tree{"f32": 0.5}, everything{F32: 0.5}},
		"duration":           {tree{"wait": "1m30s"}, everything{Wait: 90 * time.Second}},
		"time from text":     {tree{"at": "2026-12-01T12:00:00Z"}, everything{At: noon}},
		"time from time":     {tree{"at": noon}, everything{At: noon}},
		"text unmarshaler":   {tree{"ip": "10.0.0.1"}, everything{IP: netip.MustParseAddr("10.0.0.1")}},
		"param unmarshaler":  {tree{"pair": "a/b"}, everything{Pair: pair{"a", "b"}}},
		"pointer":            {tree{"ptr": 7}, everything{Ptr: &seven}},
		"struct":             {tree{"in": tree{"depth": 1}}, everything{In: inner{1}}},
		"pointer to struct":  {tree{"in_ptr": tree{"depth": 1}}, everything{InPtr: &inner{1}}},
		"list":               {tree{"list": []any{"a", "b"}}, everything{List: []string{"a", "b"}}},
		"map":                {tree{"numbers": tree{"a": 1}}, everything{Numbers: map[string]int{"a": 1}}},
		"any":                {tree{"any": []any{tree{"a": nil}, 1}}, everything{Any: []any{tree{"a": nil}, 1}}},
		"no value is no key": {tree{"name": nil, "ptr": nil, "i8": nil}, everything{}},
		"map of lists of structs": {
			tree{"nested": tree{"a": []any{tree{"depth": 1}}}},
			everything{Nested: map[string][]inner{"a": {{1}}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeEverything(tt.params)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestDecodeMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params tree
		want   string
	}{
		"unknown key":         {tree{"nam": "a"}, `nam: unknown key: did you mean "name"?`},
		"tag in another case": {tree{"NAME": "a"}, "NAME: unknown key"},
		"hidden field":        {tree{"hidden": "a"}, "hidden: unknown key"},
		"unexported field":    {tree{"unexported": "a"}, "unexported: unknown key"},
		"key twice":           {tree{"Plain": "a", "plain": "b"}, `plain: is given twice, also as "Plain"`},
		"number for string":   {tree{"name": 1}, "name: is a whole number: want a string, write it in quotes"},
		"list for string":     {tree{"name": []any{}}, "name: is a list: want a string"},
		"date for string":     {tree{"name": time.Now()}, "name: is a date: want a string, write it in quotes"},
		"string for bool":     {tree{"flag": "yes"}, "flag: is a string: want true or false"},
		"string for int":      {tree{"i64": "1"}, "i64: is a string: want a whole number"},
		"fraction for int":    {tree{"i64": 1.5}, "i64: is a number with a fraction: want a whole number"},
		"bool for float":      {tree{"f64": true}, "f64: is a boolean: want a number"},
		"int8 too large":      {tree{"i8": 128}, "i8: 128 is out of range: want -128 to 127"},
		"int8 too small":      {tree{"i8": int64(-129)}, "i8: -129 is out of range: want -128 to 127"},
		"uint8 too large":     {tree{"u8": 256}, "u8: 256 is out of range: want 0 to 255"},
		"uint8 negative":      {tree{"u8": -1}, "u8: -1 is out of range: want 0 to 255"},
		"uint8 from uint64":   {tree{"u8": uint64(256)}, "u8: 256 is out of range"},
		"int64 too large":     {tree{"i64": uint64(math.MaxInt64) + 1}, "i64: 9223372036854775808 is out of range"},
		"uint64 negative":     {tree{"u64": -1}, "u64: -1 is out of range: want 0 to 18446744073709551615"},
		"float32 too large":   {tree{"f32": 1e300}, "f32: 1e+300 is out of range for a float32"},
		"number as duration":  {tree{"wait": 30}, "wait: is a whole number: want a duration with its unit, such as 30s"},
		"bad duration":        {tree{"wait": "30"}, `wait: "30" is not a duration`},
		"bad time":            {tree{"at": "noon"}, `at: "noon" is not an instant`},
		"number as time":      {tree{"at": 5}, "at: is a whole number: want an instant"},
		"bad text":            {tree{"ip": "x"}, "ip: ParseAddr"},
		"number as text":      {tree{"ip": 1}, "ip: is a whole number: want a string"},
		"bad param":           {tree{"pair": "x"}, "pair: want LEFT/RIGHT"},
		"string for struct":   {tree{"in": "x"}, "in: is a string: want keys and values"},
		"deep unknown key":    {tree{"nested": tree{"a": []any{tree{}, tree{"dept": 1}}}}, `nested.a.1.dept: unknown key: did you mean "depth"?`},
		"string for list":     {tree{"list": "a"}, "list: is a string: want a list"},
		"element type":        {tree{"list": []any{"a", 1}}, "list.1: is a whole number"},
		"element empty":       {tree{"list": []any{"a", nil}}, `list.1: has no value: write one, "" for an empty string`},
		"map value empty":     {tree{"numbers": tree{"a": nil}}, "numbers.a: has no value"},
		"list for map":        {tree{"numbers": []any{}}, "numbers: is a list: want keys and values"},
		"field of chan":       {tree{"chan": 1}, "chan: cannot be set: its field has the type chan int"},
		"map of float keys":   {tree{"float_keys": tree{"1": "a"}}, "float_keys: cannot be set"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeEverything(tt.params)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if at, ok := errors.AsType[*ParamError](err); !ok || strings.Join(at.Path, ".") != strings.SplitN(tt.want, ":", 2)[0] {
				t.Errorf("%v does not point at the key", err)
			}
		})
	}
}

func TestDecodeReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := decodeEverything(tree{
		"bogus": 1, "name": 1, "i8": 1000, "list": []any{1, "a", 2}, "in": tree{"depth": "x", "y": 1},
		"nested": tree{"a": []any{tree{"p": 1, "q": 1, "r": 1}}},
	})
	var got []string
	for _, e := range leaves(err) {
		at, _ := errors.AsType[*ParamError](e)
		got = append(got, strings.Join(at.Path, "."))
	}
	want := []string{"bogus", "i8", "in.depth", "in.y", "list.0", "list.2", "name", "nested.a.0.p", "nested.a.0.q", "nested.a.0.r"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("mistakes at %v, want %v", got, want)
	}
}

// A Ring leads to itself: the search for embedded fields must end.
type Ring struct {
	*Ring
	Size int `json:"size"`
}

func TestDecodeRecursiveType(t *testing.T) {
	t.Parallel()
	got, err := decodeParams[Ring](tree{"size": 3}, Limits{}, decoder{})
	if err != nil || got.Size != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// An EmbeddedPointer has its fields behind a pointer.
type EmbeddedPointer struct{ *Embedded }

func TestDecodeThroughEmbeddedPointer(t *testing.T) {
	t.Parallel()
	got, err := decodeParams[EmbeddedPointer](tree{"shared": "a"}, Limits{}, decoder{})
	if err != nil || got.Shared != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecodeDoesNotShareTheTree(t *testing.T) {
	t.Parallel()
	params := tree{"any": tree{"a": 1}}
	got, err := decodeEverything(params)
	if err != nil {
		t.Fatal(err)
	}
	got.Any.(tree)["a"] = 2
	if params["any"].(tree)["a"] != 1 {
		t.Error("a change of the decoded value reached the configuration")
	}
}
