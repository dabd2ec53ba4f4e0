package replica

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/retry"
)

// Pauses between tries to join the nodes or the store.
const (
	firstJoinPause = 250 * time.Millisecond
	maxJoinPause   = 5 * time.Second
)

// joining repeats try until it succeeds, its error is final, or ctx ends, which is no error. If the
// first try fails, it logs the warning.
func joining(ctx context.Context, log *slog.Logger, warning string, final func(error) bool, try func(context.Context) error) error {
	var wait time.Duration
	for pause := firstJoinPause; retry.After(ctx, wait); pause = min(2*pause, maxJoinPause) {
		err := try(ctx)
		if err == nil || final(err) {
			return err
		}
		if pause == firstJoinPause && ctx.Err() == nil {
			log.Warn(warning, "why", config.OneLine(err.Error()))
		}
		wait = pause/2 + rand.N(pause)
	}
	return nil
}
