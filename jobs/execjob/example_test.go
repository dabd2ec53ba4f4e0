//go:build linux || darwin

package execjob_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
)

func Example() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	handler, err := registry.Bind("exec", map[string]any{
		"command": []any{"sh", "-c", `echo "tick $QUORATE_TICK with token $QUORATE_TOKEN"; exit 3`},
	}, jobs.Limits{SafetyMargin: 1500 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	err = handler(context.Background(), jobs.Run{
		Job: "nightly", Tick: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC), Token: 42, Logger: log,
	})
	fmt.Println(err)
	// Output:
	// level=INFO msg=output stream=stdout line="tick 2026-12-01T02:00:00Z with token 42"
	// exit status 3: tick 2026-12-01T02:00:00Z with token 42
}
