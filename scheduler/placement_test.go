package scheduler

import (
	"slices"
	"testing"
)

func TestFitting(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	replicas := []Replica{
		{ID: "none"},
		{ID: "a", Labels: labels{"zone": "a"}},
		{ID: "b", Labels: labels{"zone": "b", "gpu": "yes"}},
		{ID: "empty", Labels: labels{"zone": ""}},
	}
	tests := []struct {
		name  string
		wants labels
		ids   []string
	}{
		{"no label", nil, []string{"none", "a", "b", "empty"}},
		{"one", labels{"zone": "a"}, []string{"a"}},
		{"all of them", labels{"zone": "b", "gpu": "yes"}, []string{"b"}},
		{"not only some", labels{"zone": "a", "gpu": "yes"}, nil},
		{"an empty one is not a missing one", labels{"zone": ""}, []string{"empty"}},
	}
	for _, tt := range tests {
		if got := fitting(replicas, tt.wants); !slices.Equal(got, tt.ids) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.ids)
		}
	}
	if got := labelText(labels{"zone": "a", "gpu": "yes"}); got != "gpu=yes, zone=a" {
		t.Errorf("labels read %q", got)
	}
}
