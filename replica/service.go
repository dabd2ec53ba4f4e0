package replica

import (
	"context"
	"errors"

	"github.com/quorate/quorate/internal/console/view"
)

// An OtherServiceError is why Run refuses a replica: the namespace of its store belongs to
// another service.
type OtherServiceError = view.OtherServiceError

// belong checks, before the replica publishes or claims anything, that the store is its
// service's. It tries until the store answers, or ctx ends, which is no error.
func (r *Replica) belong(ctx context.Context) error {
	cfg := r.settingsShown.Load()
	const warning = "no job runs until the store says which service it belongs to; trying again until then"
	other := func(err error) bool { return errors.Is(err, view.ErrOtherService) }
	return joining(ctx, r.log, warning, other, func(ctx context.Context) error {
		return view.Belong(ctx, r.backend, cfg.Namespace, cfg.Service)
	})
}
