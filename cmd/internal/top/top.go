// Package top is the live view of a cluster in a terminal. It polls the cluster and lays
// out each snapshot as a frame, which depends only on the snapshot and the terminal's size.
package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
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
	d := readSnapshot(ctx, s, snapshot{}, of.Back)
	if d.crash != nil {
		return d.crash
	}
	v := layout{name: s.Name, remedy: remedy, width: plainWidth(w), now: time.Now()}
	if _, err := io.WriteString(w, strings.Join(d.frame(v), "\n")+"\n"); err != nil {
		return err
	}
	return cmp.Or(d.err, d.nodesErr, view.Quorate(d.nodes))
}

// plainWidth is the width of a frame that is not written to a terminal.
func plainWidth(w io.Writer) int {
	if width := output.Width(w); width > 0 {
		return width
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return unbounded
}

// unbounded is the width of a frame in a pipe: nothing is cut.
const unbounded = 1 << 16

// pausePerPoll is the shortest pause after a poll, as a multiple of its duration.
const pausePerPoll = 9

// A live view shows a cluster on a terminal. One goroutine owns it and handles keys;
// another polls, so keys never wait for the store.
type live struct {
	screen *screen
	source cluster.Cluster
	flags  Options

	data    snapshot
	help    bool
	polling bool
	polled  chan snapshot
	next    *time.Timer // of the next poll
}

// run shows the cluster until ctx ends or the user quits, and restores the terminal.
func (l *live) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	l.polled = make(chan snapshot, 1)
	l.next = time.NewTimer(0)
	defer l.next.Stop()
	events, err := l.screen.open()
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		l.screen.close()
		if cancel(); l.polling {
			<-l.polled
		}
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	if err := l.draw(); err != nil { // the first answer may take a while
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.next.C:
			l.poll(ctx)
			continue
		case l.data = <-l.polled:
			if l.polling = false; l.data.crash != nil {
				return l.data.crash
			}
			l.next.Reset(max(l.flags.Every, pausePerPoll*l.data.took))
		case e := <-events:
			if quit, err := l.handle(ctx, e); quit || err != nil {
				return err
			}
		case <-second.C:
		}
		if err := l.draw(); err != nil {
			return err
		}
	}
}

// poll starts a poll unless one is running.
func (l *live) poll(ctx context.Context) {
	if l.polling {
		return
	}
	l.polling = true
	last := l.data
	go func() { l.polled <- readSnapshot(ctx, l.source, last, l.flags.Back) }() // run waits for it
}

// handle handles a key or a signal.
func (l *live) handle(ctx context.Context, e event) (quit bool, err error) {
	switch e {
	case eventQuit:
		return true, nil
	case eventHelp:
		l.help = !l.help
	case eventRefresh:
		l.poll(ctx)
	case eventStop:
		return false, l.screen.suspend()
	case eventContinue:
		return false, l.screen.enter()
	case eventResize:
	}
	return false, nil
}

func (l *live) draw() error {
	width, height := l.screen.size()
	v := layout{
		name: l.source.Name, remedy: remedy, width: width, height: height, now: time.Now(),
		color: os.Getenv("NO_COLOR") == "", live: true, help: l.help, note: l.note(),
	}
	if l.data.read.IsZero() && l.data.err == nil {
		return l.screen.draw([]string{textLine{{"quorate top  " + v.name, bold}}.render(width, v.color), "", "reading the store …"})
	}
	return l.screen.draw(l.data.frame(v))
}

// note shows the polling interval, and why it is long.
func (l *live) note() string {
	if pause := pausePerPoll * l.data.took; pause > l.flags.Every {
		return fmt.Sprintf("every %s, a poll takes %s", output.Short(pause+l.data.took), output.Short(l.data.took))
	}
	return "every " + strings.TrimSuffix(output.Short(l.flags.Every), ".0s")
}

// An event is a request by a key or a signal.
type event int

const (
	eventResize event = iota // draw again
	eventQuit
	eventHelp
	eventRefresh
	eventStop
	eventContinue
)

// eventsOf returns the events of keys that were read at once; no keys: the terminal is
// gone.
func eventsOf(keys []byte) []event {
	if len(keys) == 0 {
		return []event{eventQuit}
	}
	var events []event
	for len(keys) > 0 {
		if n := sequence(keys); n > 0 {
			keys = keys[n:]
			continue
		}
		if e, known := eventOf(keys[0]); known {
			events = append(events, e)
		}
		keys = keys[1:]
	}
	return events
}

// sequence is the length of the escape sequence at the start of keys, such as an arrow's;
// 0 if there is none.
func sequence(keys []byte) int {
	if keys[0] != '\x1b' || len(keys) == 1 {
		return 0
	}
	if keys[1] != '[' {
		return 2
	}
	for i, b := range keys[2:] {
		if b >= '@' {
			return i + 3
		}
	}
	return len(keys)
}

func eventOf(key byte) (event, bool) {
	const ctrlC, ctrlD, ctrlL, ctrlZ = 3, 4, 12, 26
	switch key {
	case 'q', 'Q', ctrlC, ctrlD:
		return eventQuit, true
	case '?', 'h':
		return eventHelp, true
	case ' ', 'r':
		return eventRefresh, true
	case ctrlZ:
		return eventStop, true
	case ctrlL:
		return eventResize, true
	}
	return 0, false
}

// Bounds of one poll.
const (
	mostTicks   = 400 // the latest, of all jobs
	mostNext    = 200
	mostRunning = 10 // jobs whose run is older than the latest ticks
	pollTimeout = 10 * time.Second
)

// A snapshot is what is known of a cluster.
type snapshot struct {
	nodes    []view.Node
	nodesErr error // why nodes are old or unknown
	replicas []view.Replica
	next     []view.Next
	ticks    []view.Tick // the latest, newest first
	running  []view.Run
	since    time.Time // start of ticks
	cut      bool      // there are earlier ticks
	read     time.Time // when all but the nodes was read; zero: never
	took     time.Duration
	err      error // why the last poll failed
	crash    error // a panic of the last poll
}

// A crash is a panic while reading, with its stack.
type crash struct {
	what  any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("bug: %v; please report it\n%s", c.what, c.stack) }

// guarded calls f and returns a panic as an error, so that the terminal is restored
// before the error is printed.
func guarded(f func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = &crash{what, debug.Stack()}
		}
	}()
	return f()
}

// readSnapshot reads all parts at once. Parts that cannot be read are taken from last.
func readSnapshot(ctx context.Context, s cluster.Cluster, last snapshot, back time.Duration) snapshot {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	began := time.Now()
	now := snapshot{since: began.Add(-back), read: began}
	more := false
	var errs [4]error
	var wg sync.WaitGroup
	for i, read := range []func() error{
		func() (err error) { now.nodes, err = s.Nodes(ctx); return err },
		func() (err error) { now.replicas, err = s.Replicas(ctx); return err },
		func() (err error) { now.next, err = s.Next(ctx, "", began, mostNext); return err },
		func() error {
			p, err := s.Ticks(ctx, view.EntryQuery{Limit: mostTicks, Since: now.since})
			now.ticks, more = p.Items, p.Next != nil
			return err
		},
	} {
		wg.Go(func() { errs[i] = guarded(read) })
	}
	wg.Wait()
	now.took = time.Since(began)
	now.next = firstOfEach(now.next)
	if now.nodesErr = errs[0]; errs[0] != nil {
		now.nodes = last.nodes
	}
	if now.err = cmp.Or(errs[1:]...); now.err == nil {
		now.err = guarded(func() error { return now.addRunning(ctx, s) })
	}
	for _, err := range append(errs[:], now.err) {
		if broken, ok := errors.AsType[*crash](err); ok {
			last.crash = broken
			return last
		}
	}
	if now.cut = more && len(now.ticks) > 0; now.cut {
		now.since = view.Time(&now.ticks[len(now.ticks)-1].Tick)
	}
	if now.err != nil {
		last.nodes, last.nodesErr, last.took, last.err = now.nodes, now.nodesErr, now.took, now.err
		return last
	}
	return now
}

// firstOfEach keeps the first tick of each job, so that frequent jobs do not hide others.
func firstOfEach(ticks []view.Next) []view.Next {
	known := map[string]bool{}
	return slices.DeleteFunc(ticks, func(n view.Next) bool {
		again := known[n.Job]
		known[n.Job] = true
		return again
	})
}

// addRunning finds the running runs: those among the latest ticks, and older ones that
// replicas report.
func (d *snapshot) addRunning(ctx context.Context, s cluster.Cluster) error {
	known := map[string]bool{}
	for _, t := range d.ticks {
		if t.Outcome == ledger.Running {
			known[t.Job] = true
			d.running = append(d.running, t.Run)
		}
	}
	running := view.EntryQuery{Limit: mostRunning, Outcomes: []ledger.Outcome{ledger.Running}}
	asked := 0
	for _, r := range d.replicas {
		for _, job := range r.Running {
			if known[job] || asked == mostRunning {
				continue
			}
			known[job] = true
			asked++
			running.Job = job
			rows, err := cluster.Entries(ctx, running, s.Runs)
			if err != nil && !errors.Is(err, view.ErrNotFound) {
				return err
			}
			d.running = append(d.running, rows...)
		}
	}
	slices.SortStableFunc(d.running, func(x, y view.Run) int { // longest first
		return view.Time(x.Started).Compare(view.Time(y.Started))
	})
	return nil
}
