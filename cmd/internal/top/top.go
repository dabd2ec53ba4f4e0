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
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
)

// Options of the view.
type Options struct {
	Every, Back time.Duration // polling interval, and how far back it shows ticks
	Once        bool          // print one frame
	By          string        // the author of commands
}

// Run shows the cluster until ctx ends or the user quits. With Once, or if out is not a
// terminal, it prints one frame; the error is locking.ErrNoQuorum without a quorum.
func Run(ctx context.Context, in io.Reader, out io.Writer, s cluster.Cluster, of Options) error {
	if screen, ok := openScreen(in, out); ok && !of.Once {
		return newLive(screen, s, of).run(ctx)
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

// A task is work beside the keys, one at a time.
type task[R any] struct {
	busy bool
	done chan R // its result, once
}

func (t *task[R]) start(work func() R) {
	t.busy = true
	go func() { t.done <- work() }() // wait waits for it
}

// wait returns the result of the running task; zero: there is none.
func (t *task[R]) wait() (r R) {
	if t.busy {
		r = <-t.done
	}
	return r
}

// A live view shows a cluster on a terminal. One goroutine owns it and handles keys. Tasks
// read and change the cluster, so keys never wait for the store.
type live struct {
	screen *screen
	source cluster.Cluster
	flags  Options

	data  snapshot
	state state
	next  *time.Timer // of the next poll

	poll    task[snapshot]
	command task[result]
	read    task[*jobDetail]
	reading string             // the job of read
	stop    context.CancelFunc // ends read
	wanted  string             // the job to read after it; empty: none
}

func newLive(screen *screen, source cluster.Cluster, flags Options) *live {
	l := &live{screen: screen, source: source, flags: flags, next: time.NewTimer(0), stop: func() {}}
	l.state.needsReason = source.NeedsReason
	l.poll.done, l.command.done, l.read.done = make(chan snapshot), make(chan result), make(chan *jobDetail)
	return l
}

// run shows the cluster until ctx ends or the user quits, and restores the terminal. A
// command that was given is awaited, and its error returned.
func (l *live) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer l.next.Stop()
	events, err := l.screen.open()
	if err != nil {
		return err
	}
	defer func() {
		l.screen.close()
		cancel()
		l.poll.wait()
		l.read.wait()
		err = cmp.Or(err, l.command.wait().err)
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		if err := l.draw(); err != nil { // at first without data: the first answer may take a while
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.next.C:
			l.startPoll(ctx)
		case l.data = <-l.poll.done:
			l.polled(ctx)
			err = l.data.crash
		case d := <-l.read.done:
			err = l.jobRead(ctx, d)
		case r := <-l.command.done:
			err = l.commandDone(ctx, r)
		case e := <-events:
			var quit bool
			if quit, err = l.handle(ctx, e); quit {
				return err
			}
		case <-second.C:
		}
		if err != nil {
			return err
		}
	}
}

func (l *live) startPoll(ctx context.Context) {
	if !l.poll.busy {
		last := l.data
		l.poll.start(func() snapshot { return readSnapshot(ctx, l.source, last, l.flags.Back) })
	}
}

// polled plans the next poll, and reads the job of the page again.
func (l *live) polled(ctx context.Context) {
	l.poll.busy = false
	took := l.data.took
	if job := l.state.openJob(); job != "" {
		l.readJob(ctx, job)
		if known := l.state.page.job; known != nil {
			took += known.took
		}
	}
	l.next.Reset(max(l.flags.Every, pausePerPoll*took))
}

// readJob reads the details of a job, after the job that is being read.
func (l *live) readJob(ctx context.Context, job string) {
	if l.read.busy {
		if l.reading != job {
			l.stop()
			l.wanted = job
		}
		return
	}
	ctx, l.stop = context.WithCancel(ctx)
	l.reading, l.wanted = job, ""
	var last *jobDetail
	if l.state.openJob() == job {
		last = l.state.page.job
	}
	l.read.start(func() *jobDetail { return readJob(ctx, l.source, job, last) })
}

func (l *live) jobRead(ctx context.Context, d *jobDetail) error {
	l.read.busy = false
	l.stop()
	if broken, ok := errors.AsType[*crash](d.err); ok {
		return broken
	}
	if l.state = l.state.arrived(d); l.wanted != "" {
		l.readJob(ctx, l.wanted)
	}
	return nil
}

// commandTimeout bounds a command. It outlives the view, since it may be half done.
const commandTimeout = 20 * time.Second

func (l *live) give(ctx context.Context, command commands.Command) {
	if l.command.busy {
		l.state.notice = notice{"Not done: the last command is not answered yet.", bad}
		return
	}
	command.By, command.Within = l.flags.By, commands.DefaultWithin(command.Kind)
	l.state.notice = notice{fmt.Sprintf("Waiting for the %s of %s …", command.Kind, command.Job), faint}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	l.command.start(func() result {
		defer cancel()
		return do(ctx, l.source, command)
	})
}

// commandDone shows the result and what it changed.
func (l *live) commandDone(ctx context.Context, r result) error {
	l.command.busy = false
	l.state.notice = r.notice
	l.startPoll(ctx)
	if broken, ok := errors.AsType[*crash](r.err); ok {
		return broken
	}
	return nil
}

// handle handles a key or a signal.
func (l *live) handle(ctx context.Context, e event) (quit bool, err error) {
	switch e.kind {
	case eventQuit:
		return true, nil
	case eventStop:
		return false, l.screen.suspend()
	case eventContinue:
		return false, l.screen.enter()
	case eventKey:
		var r request
		l.state, r = l.state.press(e.key, l.data.extent(l.layout()))
		switch {
		case r.quit:
			return true, nil
		case r.suspend:
			return false, l.screen.suspend()
		case r.refresh:
			l.startPoll(ctx)
		case r.read != "":
			l.readJob(ctx, r.read)
		case r.command != nil:
			l.give(ctx, *r.command)
		}
	case eventResize:
	}
	return false, nil
}

func (l *live) layout() layout {
	width, height := l.screen.size()
	return layout{
		state: l.state, name: l.source.Name, remedy: remedy, width: width, height: height, now: time.Now(),
		color: os.Getenv("NO_COLOR") == "", live: true, note: l.note(),
	}
}

func (l *live) draw() error {
	v := l.layout()
	if l.data.read.IsZero() && l.data.err == nil {
		return l.screen.draw([]string{textLine{{"quorate top  " + v.name, bold}}.render(v.width, v.color), "", "reading the store …"})
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
