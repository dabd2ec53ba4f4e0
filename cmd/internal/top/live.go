package top

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
)

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
	polled  chan poll
	next    *time.Timer // of the next poll
}

// A poll is the result of a poll.
type poll struct {
	data  snapshot
	crash error
}

// run shows the cluster until ctx ends or the user quits, and restores the terminal.
func (l *live) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	l.polled = make(chan poll, 1)
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
		case found := <-l.polled:
			if l.polling = false; found.crash != nil {
				return found.crash
			}
			l.data = found.data
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
	go func() { // run waits for it
		data, err := readSnapshot(ctx, l.source, last, l.flags.Back)
		l.polled <- poll{data, err}
	}()
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
		about: l.source.About(), width: width, height: height, now: time.Now(),
		color: os.Getenv("NO_COLOR") == "", live: true, help: l.help, note: l.note(),
	}
	if l.data.read.IsZero() && l.data.err == nil {
		return l.screen.draw([]string{textLine{{"quorate top  " + v.about.Name, bold}}.render(width, v.color), "", "reading the store …"})
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
