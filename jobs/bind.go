package jobs

import (
	"context"
	"log/slog"

	"github.com/quorate/quorate/internal/decode"
)

// bind returns fn with params. They are decoded here to find every mistake
// early, and again for each run: a run may change what its maps and pointers
// lead to, and a secret may have changed.
func bind[P any](fn func(context.Context, Run, P) error, params map[string]any, limits Limits) (Handler, error) {
	params = decode.Clone(params).(map[string]any)
	if _, err := decodeParams[P](params, limits, decoder{unresolved: limits.Resolve != nil}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run Run) error {
		if run.Logger == nil {
			run.Logger = slog.New(slog.DiscardHandler)
		}
		resolved, secrets, err := resolveParams(params, limits.Resolve)
		if err != nil {
			return err
		}
		hide := newMask(maskable(secrets, leastSecret))
		run.Logger = hide.logger(run.Logger)
		return hide.error(recovered(func() error {
			p, err := decodeParams[P](resolved, limits, decoder{secret: len(secrets) > 0})
			if err != nil {
				return err
			}
			return fn(ctx, run, p)
		}))
	}, nil
}
