package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// shareOfLook is how many times as long as a look takes the pause after it is at
// least.
const shareOfLook = 9

// A liveTop shows a cluster on a terminal and goes by its keys. One goroutine owns
// it; another looks at the cluster, so that the keys never wait for the nodes.
type liveTop struct {
	screen *screen
	source topSource
	flags  topFlags

	data    topData
	help    bool
	looking bool
	looked  chan look
	next    *time.Timer // of the next look
}

// A look is what one has found.
type look struct {
	data  topData
	crash error
}

// run shows the cluster until ctx ends or somebody quits, which is no error, and
// leaves the terminal as it was.
func (l *liveTop) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	l.looked = make(chan look, 1)
	l.next = time.NewTimer(0)
	defer l.next.Stop()
	events, err := l.screen.open()
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		l.screen.close()
		if cancel(); l.looking {
			<-l.looked
		}
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	if err := l.draw(); err != nil { // before the first answer, which may take a while
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.next.C:
			l.look(ctx)
			continue
		case found := <-l.looked:
			if l.looking = false; found.crash != nil {
				return found.crash
			}
			l.data = found.data
			l.next.Reset(max(l.flags.every, shareOfLook*l.data.took))
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

// look begins to look at the cluster, unless that goes on.
func (l *liveTop) look(ctx context.Context) {
	if l.looking {
		return
	}
	l.looking = true
	last := l.data
	go func() { // run waits for it
		data, err := l.source.look(ctx, last, l.flags.back)
		l.looked <- look{data, err}
	}()
}

// handle does what a key or a signal asks for.
func (l *liveTop) handle(ctx context.Context, e event) (quit bool, err error) {
	switch e {
	case eventQuit:
		return true, nil
	case eventHelp:
		l.help = !l.help
	case eventLook:
		l.look(ctx)
	case eventStop:
		return false, l.screen.suspend()
	case eventContinue:
		return false, l.screen.enter()
	case eventResize:
	}
	return false, nil
}

func (l *liveTop) draw() error {
	width, height := l.screen.size()
	v := topView{
		of: l.source.of, remedy: l.source.remedy, width: width, height: height, now: time.Now(),
		color: os.Getenv("NO_COLOR") == "", live: true, help: l.help, note: l.note(),
	}
	if l.data.read.IsZero() && l.data.err == nil {
		return l.screen.draw([]string{textLine{{"quorate top  " + v.of, bold}}.render(width, v.color), "", "asking the nodes …"})
	}
	return l.screen.draw(l.data.frame(v))
}

// note says how often the cluster is looked at, if that is seldom why.
func (l *liveTop) note() string {
	if pause := shareOfLook * l.data.took; pause > l.flags.every {
		return fmt.Sprintf("every %s, a look takes %s", short(pause+l.data.took), short(l.data.took))
	}
	return "every " + strings.TrimSuffix(short(l.flags.every), ".0s")
}
