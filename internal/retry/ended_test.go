package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/internal/retry"
)

// An error matches the end of its context, and says so once.
func TestEnded(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	silent := errors.New("no answer")
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), silent, "no answer"},
		{late, silent, "no answer: context deadline exceeded"},
		{late, fmt.Errorf("%w: context deadline exceeded", silent), "no answer: context deadline exceeded"},
		{late, fmt.Errorf("%w: %w", silent, context.DeadlineExceeded), "no answer: context deadline exceeded"},
	} {
		err := retry.Ended(c.ctx, c.err)
		if !errors.Is(err, silent) || c.ctx.Err() != nil && !errors.Is(err, c.ctx.Err()) || err.Error() != c.want {
			t.Errorf("Ended(%v) = %v, want %q", c.err, err, c.want)
		}
	}
}
