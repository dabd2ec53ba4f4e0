package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/listing"
)

// leastEvery bounds how often top may look at the cluster, and leastBack and mostBack
// how far back.
const (
	leastEvery = 500 * time.Millisecond
	leastBack  = time.Minute
	mostBack   = 30 * 24 * time.Hour
)

// topFlags are what the flags of top say.
type topFlags struct {
	every, back time.Duration
	once        bool
}

func (a App) topCommand(f *flags) *cobra.Command {
	var of topFlags
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch the cluster: who votes, who runs what, what comes next, what went wrong",
		Long: `Watch the cluster in the terminal: in words how many nodes may still be lost and
how the latest ticks went; then the ticks that did not go well, the runs that go
on, the next ticks, the replicas, and the nodes with their votes. While no quorum
answers it shows what was known last, how old that is, and what to do.

The terminal is left as it was with q, Ctrl-C or SIGTERM; ? shows the other keys.
Times are UTC. NO_COLOR is heeded.

With --once, and where standard output is no terminal or TERM is dumb, one frame is
printed, without escape codes and as long as need be, 80 columns wide unless the
terminal or $COLUMNS says otherwise; then the exit code is 4 when fewer than a
quorum answer.

A look at the cluster reads the latest ticks of each job once, whatever the history;
where that takes long, looks are further apart than --every, so that they never take
more than a tenth of the time.`,
		Example: `  quorate top
  quorate top --every 5s --since 12h
  quorate top --server https://cron.example.com
  quorate top --once | head -3`,
		Args: usage(noArgs),
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case of.every < leastEvery:
				return usageError{fmt.Errorf("--every %v: write %v or more", of.every, leastEvery)}
			case of.back < leastBack || of.back > mostBack:
				return usageError{fmt.Errorf("--since %v: write how long ago, %v to %v", of.back, leastBack, mostBack)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); err != nil {
				return err
			} else if api != nil {
				return a.top(c.Context(), api.topSource(), of)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return a.top(c.Context(), cl.topSource(), of)
			})
		},
	}
	c.Flags().DurationVar(&of.every, "every", 2*time.Second, "look so `often`")
	c.Flags().DurationVar(&of.back, "since", time.Hour, "show how ticks went since so `long` ago, up to the latest 400 of all jobs")
	c.Flags().BoolVar(&of.once, "once", false, "print one frame and exit")
	return c
}

// top shows the cluster until somebody quits, or once.
func (a App) top(ctx context.Context, s topSource, of topFlags) error {
	if screen, ok := openScreen(a.In, a.Out); ok && !of.once {
		l := &liveTop{screen: screen, source: s, flags: of}
		return l.run(ctx)
	}
	return topOnce(ctx, a.Out, s, of)
}

// topOnce prints one frame.
func topOnce(ctx context.Context, w io.Writer, s topSource, of topFlags) error {
	d, err := s.look(ctx, topData{}, of.back)
	if err != nil {
		return err
	}
	v := topView{of: s.of, remedy: s.remedy, width: plainWidth(w), now: time.Now()}
	if _, err := io.WriteString(w, strings.Join(d.frame(v), "\n")+"\n"); err != nil {
		return err
	}
	return cmp.Or(d.err, d.quorum())
}

// quorum returns locking.ErrNoQuorum if some tick cannot start for want of votes.
func (d topData) quorum() error {
	for _, m := range listing.Margins(d.nodes) {
		if m.Level == "bad" || m.Slow {
			return fmt.Errorf("%w: %s", locking.ErrNoQuorum, m.Text)
		}
	}
	return d.nodesErr
}

// plainWidth is how wide a frame is that nobody may see on a terminal.
func plainWidth(w io.Writer) int {
	if width := terminalWidth(w)(); width > 0 {
		return width
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return 80
}
