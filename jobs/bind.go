package jobs

import (
	"context"
	"log/slog"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/mask"
)

// leastSecret is the length in bytes below which a secret of a param is not masked.
const leastSecret = 4

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
		hide := mask.From(ctx).And(mask.New(secrets, leastSecret))
		return guarded(ctx, hide, run, func(ctx context.Context, run Run) error {
			p, err := decodeParams[P](resolved, limits, decoder{secret: len(secrets) > 0})
			if err != nil {
				return err
			}
			return fn(ctx, run, p)
		})
	}, nil
}
