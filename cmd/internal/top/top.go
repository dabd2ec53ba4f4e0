// Package top is the live view of a cluster in a terminal. It polls the cluster and lays
// out each snapshot as a frame, which depends only on the snapshot and the terminal's size.
package top

import (
	"cmp"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
)

// Options of the view.
type Options struct {
	Every, Back time.Duration // polling interval, and how far back it shows ticks
	Once        bool          // print one frame
}

// Run shows the cluster until ctx ends or the user quits. With Once, or if out is not a
// terminal, it prints one frame; the error is locking.ErrNoQuorum without a quorum.
func Run(ctx context.Context, in io.Reader, out io.Writer, s cluster.Cluster, of Options) error {
	if screen, ok := openScreen(in, out); ok && !of.Once {
		l := &live{screen: screen, source: s, flags: of}
		return l.run(ctx)
	}
	return once(ctx, out, s, of)
}

// once prints one frame.
func once(ctx context.Context, w io.Writer, s cluster.Cluster, of Options) error {
	d, err := readSnapshot(ctx, s, snapshot{}, of.Back)
	if err != nil {
		return err
	}
	v := layout{about: s.About(), width: plainWidth(w), now: time.Now()}
	if _, err := io.WriteString(w, strings.Join(d.frame(v), "\n")+"\n"); err != nil {
		return err
	}
	return cmp.Or(d.err, d.nodesErr, view.Quorate(d.nodes))
}

// plainWidth is the width of a frame that is not written to a terminal.
func plainWidth(w io.Writer) int {
	if width := output.Width(w)(); width > 0 {
		return width
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return unbounded
}

// unbounded is the width of a frame in a pipe: nothing is cut.
const unbounded = 1 << 16
