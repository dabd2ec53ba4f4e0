package membership

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

func TestRefusalsAreAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{ErrBlank, false},
		{&RefusedError{Reason: "no"}, false},
		{fmt.Errorf("wrapped: %w", &client.ServerError{Code: "OOM"}), false},
		{errors.New("read tcp: connection reset by peer"), true},
	} {
		if got := !answered(c.err); got != c.want {
			t.Errorf("%v: unanswered = %v", c.err, got)
		}
	}
}

func TestRefusedErrorMatchesTheContract(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("joining: %w", &RefusedError{Node: "a:1", Reason: "no"})
	if !errors.Is(err, locking.ErrRefused) || errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("%v does not match locking.ErrRefused alone", err)
	}
}
