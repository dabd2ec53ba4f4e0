package cmd

import (
	"errors"
	"testing"
)

// The params of both flags make one object, in which numbers keep all their
// digits.
func TestReadParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		object string
		pairs  []string
		want   string
	}{
		{"", nil, ""},
		{`{"id": 1}`, nil, `{"id": 1}`},
		{`{"id": 12345678901234567, "of": "a"}`, []string{"of=b", "n=2"}, `{"id":12345678901234567,"n":2,"of":"b"}`},
		{"", []string{"a=1", "b=true", "c=text", "d=", `e={"f":[1]}`, "g=h=i"}, `{"a":1,"b":true,"c":"text","d":"","e":{"f":[1]},"g":"h=i"}`},
	} {
		got, err := readParams(tt.object, tt.pairs)
		if err != nil || string(got) != tt.want {
			t.Errorf("readParams(%q, %q) = %s, %v; want %s", tt.object, tt.pairs, got, err, tt.want)
		}
	}
	for _, bad := range []struct {
		object string
		pairs  []string
	}{{"[]", nil}, {"null", nil}, {"{", nil}, {"", []string{"a"}}, {"", []string{"=1"}}} {
		var usage usageError
		if _, err := readParams(bad.object, bad.pairs); !errors.As(err, &usage) {
			t.Errorf("readParams(%q, %q) = %v, want a usage error", bad.object, bad.pairs, err)
		}
	}
}
