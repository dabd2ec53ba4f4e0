package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// Profiles takes a CPU profile of our claims. The file is left in dir.
func Profiles(ctx context.Context, env Env, dir string) ([]report.Profile, error) {
	of, err := env.profile(ctx, filepath.Join(dir, "claims.pprof"),
		fmt.Sprintf("claim and finish, %d in parallel", env.Size.ProfileWorkers), env.busyClaims)
	return []report.Profile{of}, err
}

// profile runs work, which begins the profile when it is ready and returns the
// processor time of one operation.
func (e Env) profile(ctx context.Context, file, title string, work func(ctx context.Context, begin func() error) (float64, error)) (report.Profile, error) {
	p := report.Profile{Title: title}
	f, err := os.Create(file)
	if err != nil {
		return p, err
	}
	p.Cost, err = work(ctx, func() error { return pprof.StartCPUProfile(f) })
	pprof.StopCPUProfile()
	if err := errors.Join(err, f.Close()); err != nil {
		return p, err
	}
	e.Told("profile of %s: %s each", title, report.Seconds.Format(p.Cost))
	p.Functions, err = report.ReadProfile(ctx, file)
	return p, err
}

func (e Env) busyClaims(ctx context.Context, begin func() error) (float64, error) {
	if err := e.fresh(ctx); err != nil {
		return 0, err
	}
	ours, err := rig.Open(ctx, e.Rig.Addrs())
	if err != nil {
		return 0, err
	}
	list := newClaimers(ours.Locker, "profile", e.Size.ProfileWorkers, true)
	run := func(span time.Duration) (float64, int64, error) {
		return rate(ctx, len(list), span, new(atomic.Int64), func(ctx context.Context, w int) error { return list[w].run(ctx) })
	}
	if _, _, err := run(e.Size.Span); err != nil { // the warm-up
		return 0, errors.Join(err, ours.Close())
	}
	before, err := cpu()
	err = errors.Join(err, begin())
	_, done, err2 := run(5 * e.Size.Span)
	after, err3 := cpu()
	return (after - before).Seconds() / float64(done), errors.Join(err, err2, err3, ours.Close())
}
