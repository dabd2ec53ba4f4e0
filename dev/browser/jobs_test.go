package browser_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/redisfence"
)

// workParams say what a run does.
type workParams struct {
	Lines []string      `json:"lines,omitempty"` // of its log, spread over the time
	For   time.Duration `json:"for,omitempty"`
	Fails string        `json:"fails,omitempty"` // the error, if it fails
	Sink  string        `json:"sink,omitempty"`  // a guarded Redis that it writes to at its end
	Waits bool          `json:"waits,omitempty"` // before it writes, until the test lets it
}

// gateList is the list in the sink that has a word for each run that may write.
const gateList = "gate"

// registry has the one function of the service, and one that heeds no context.
func registry() *jobs.Registry {
	r := jobs.NewRegistry()
	jobs.Register(r, "work", work)
	jobs.Register(r, "deaf", func(ctx context.Context, run jobs.Run, p workParams) error {
		return work(context.WithoutCancel(ctx), run, p)
	})
	return r
}

func work(ctx context.Context, run jobs.Run, p workParams) error {
	parts := time.Duration(len(p.Lines) + 1)
	for _, line := range p.Lines {
		run.Logger.Info(line)
		if err := pause(ctx, p.For/parts); err != nil {
			return err
		}
	}
	if err := pause(ctx, p.For/parts); err != nil {
		return err
	}
	if p.Sink != "" {
		if err := write(ctx, run, p); err != nil {
			return err
		}
	}
	if p.Fails != "" {
		return jobs.Permanent(errors.New(p.Fails))
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write writes to the sink, as soon as it may.
func write(ctx context.Context, run jobs.Run, p workParams) error {
	client := redis.NewClient(&redis.Options{Addr: p.Sink})
	defer client.Close()
	if p.Waits {
		if err := client.BLPop(ctx, 0, gateList).Err(); err != nil {
			return fmt.Errorf("waiting at the gate: %w", err)
		}
	}
	if err := (redisfence.Guard{Client: client}).Set(ctx, run, "total", uint64(run.Token), 0); err != nil {
		return fmt.Errorf("writing the total: %w", err)
	}
	return nil
}
