package locking_test

import (
	"errors"
	"testing"

	"github.com/quorate/quorate/locking"
)

func TestNodeErrorNamesItsNodeOnce(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"node is blank":         "a:1: node is blank",
		"a:1: belongs to [b:1]": "a:1: belongs to [b:1]",
		"b:1: is the same one":  "a:1: b:1: is the same one",
	} {
		if got := (locking.NodeError{Node: "a:1", Err: errors.New(said)}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
