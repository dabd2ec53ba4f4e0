package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/top"
)

// leastEvery bounds how often top may look at the cluster, and leastBack and mostBack
// how far back.
const (
	leastEvery = 500 * time.Millisecond
	leastBack  = time.Minute
	mostBack   = 30 * 24 * time.Hour
)

func topCommand(a *cli) *cobra.Command {
	var of top.Options
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch the cluster: how the store is, who runs what, what comes next, what went wrong",
		Long: `Watch the cluster in the terminal: in words how the store is, how many of
its nodes may still be lost, and how the latest ticks went; then the ticks that did not go well, the runs that go
on, the next ticks, the replicas, and the store or its nodes. While it does not
answer, it shows what was known last, how old that is, and what to do.

The terminal is left as it was with q, Ctrl-C or SIGTERM; ? shows the other keys.
Times are UTC. NO_COLOR is heeded.

With --once, and where standard output is not a terminal or TERM is dumb, one frame is
printed, without escape codes and as long as need be, 80 columns wide unless the
terminal or $COLUMNS says otherwise; then the exit code is 4 when the store
does not answer.

A look at the cluster reads the latest ticks of each job once, whatever the history;
where that takes long, looks are further apart than --every, so that they never take
more than a tenth of the time.`,
		Example: `  quorate top
  quorate top --every 5s --since 12h
  quorate top --server https://cron.example.com
  quorate top --once | head -3`,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case of.Every < leastEvery:
				return failure.Usagef("--every %v: write %v or more", of.Every, leastEvery)
			case of.Back < leastBack || of.Back > mostBack:
				return failure.Usagef("--since %v: write how long ago, %v to %v", of.Back, leastBack, mostBack)
			}
			return nil
		},
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			return top.Run(ctx, a.In, a.Out, cl, of)
		}),
	}
	c.Flags().DurationVar(&of.Every, "every", 2*time.Second, "look so `often`")
	c.Flags().DurationVar(&of.Back, "since", time.Hour, "show how ticks went since so `long` ago, up to the latest 400 of all jobs")
	c.Flags().BoolVar(&of.Once, "once", false, "print one frame and exit")
	return c
}
