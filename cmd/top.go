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
		Long: `Watch the cluster in the terminal. The first lines say how the store is, how many of
its nodes may still be lost, and how the latest ticks went. Below are the ticks that
failed or did not run, the active runs, the next ticks, the replicas, and the store or
its nodes. While the store does not answer, the view shows the last known state, its
age, and what to do.

Press q or Ctrl-C to leave, and ? for the other keys. Times are UTC. Set NO_COLOR to
turn colours off.

With --once it prints one frame and ends. It does so too if standard output is not a
terminal, or TERM is dumb. Such a frame has no escape codes. In a pipe nothing is cut,
unless $COLUMNS says how wide it may be. Exit code 4 if the store does not answer.

Each read of the cluster covers the latest ticks of each job, however long the history
is. If reads take long, the view reads less often than --every, and at most a tenth of
the time.`,
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
