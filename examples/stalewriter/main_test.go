package main

import (
	"strings"
	"testing"
)

func TestStaleWriter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"replica B has to wait", "replica B writes: accepted", "refused: token", "the Redis still says: by B", "the service still says: by B"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}
