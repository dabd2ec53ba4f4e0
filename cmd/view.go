package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A display shows the replicas of dev: a line per tick and, on a terminal, a status line.
// Observers only queue; one goroutine writes, so a slow terminal does not delay a
// replica.
type display struct {
	out   io.Writer
	width func() int // of the terminal, 0 if it is none
	color bool
	job   int // width of the column of jobs

	mu      sync.Mutex
	queue   []string
	claimed map[string]time.Duration // by run ID: how long the claim took
	decided map[string]time.Time     // by job: the last tick shown that did not run
}

// newView returns a view of the named jobs. Width is that of the terminal behind out, 0
// if there is none.
func newView(out io.Writer, width func() int, jobs []string) *display {
	v := &display{
		out: out, width: width, color: width() > 0 && os.Getenv("NO_COLOR") == "", job: len("JOB"),
		claimed: map[string]time.Duration{}, decided: map[string]time.Time{},
	}
	for _, name := range jobs {
		v.job = max(v.job, len(name))
	}
	if width() > 0 {
		v.job = min(v.job, maxJobColumn)
	}
	return v
}

// maxJobColumn bounds the job column of a terminal. With job names of up to 15 characters, a line
// without a reason fits 80 columns.
const maxJobColumn = 20

// row formats one tick. The outcome with its reason is last, so only it wraps.
func (v *display) row(tick, job, by, token, votes, claim, run, outcome string) string {
	if v.width() > 0 {
		job = output.Clip(job, v.job)
	}
	return fmt.Sprintf("%-8s  %-*s  %-2s  %-16s  %-5s %5s %5s  %s",
		tick, v.job, job, by, token, votes, claim, run, outcome)
}

func (v *display) header(text string) {
	fmt.Fprintln(v.out, text)
	fmt.Fprintln(v.out)
	fmt.Fprintln(v.out, v.row("TICK UTC", "JOB", "BY", "TOKEN", "VOTES", "CLAIM", "RUN", "OUTCOME"))
}

// observer shows the events of the named replica.
func (v *display) observer(name string) scheduler.Observer {
	return func(e scheduler.Event) {
		switch e.Kind {
		case scheduler.EventClaimed:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.claimed[e.Run] = e.Took
		case scheduler.EventFinished:
			v.finished(e)
		case scheduler.EventDecided:
			if e.Entry.Outcome != ledger.Missed { // another replica may run it
				v.notRun(e.Entry)
			}
		case scheduler.EventSettled:
			if e.Err == nil { // else another one may have run it
				v.notRun(e.Entry)
			}
		case scheduler.EventOverdue:
			v.say(fmt.Sprintf("%s: %s of tick %s ignores the end of its context", name, e.Entry.Job, clock(e.Entry.OrderKey())))
		case scheduler.EventUpdated:
			v.once(name, "reloaded: "+e.Diff.String())
		case scheduler.EventUpdateFailed:
			v.updateFailed(name, e.Err)
		case scheduler.EventClockJumped:
			v.say(fmt.Sprintf("%s: the clock jumped by %v", name, e.By.Round(time.Millisecond)))
		}
	}
}

func (v *display) finished(ended scheduler.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, claim := ended.Entry, v.claimed[ended.Run]
	delete(v.claimed, ended.Run)
	outcome := v.paint(e.Outcome)
	if why := view.Why(e.Reason.String(), e.Error); why != "" {
		outcome += ": " + v.clip(why)
	}
	v.queue = append(v.queue, v.row(clock(e.Tick), e.Job, e.Replica, fmt.Sprint(e.Token),
		view.Votes(e), output.Short(claim), output.Short(e.Finished.Sub(e.Started)), outcome))
}

// notRun shows a tick that did not run once, although every replica reports it.
func (v *display) notRun(e ledger.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !e.Tick.After(v.decided[e.Job]) {
		return
	}
	v.decided[e.Job] = e.Tick
	v.queue = append(v.queue, v.row(clock(e.Tick), e.Job, "-", "-", "-", "-", "-",
		v.paint(e.Outcome)+": "+v.clip(e.Reason.String())))
}

// clip puts a text on one line, which is short on a terminal.
func (v *display) clip(text string) string {
	if v.width() == 0 {
		return output.Clip(text, len(text)+1)
	}
	return output.Clip(text, 120)
}

func (v *display) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue = append(v.queue, text)
}

// Write queues log lines.
func (v *display) Write(p []byte) (int, error) {
	v.say(string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// run writes until ctx ends, then writes the rest.
func (v *display) run(ctx context.Context, replicas []*replica.Replica) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			v.flush("")
			return
		case <-tick.C:
			status := ""
			if width := v.width(); width > 0 {
				status = output.Clip(statusLine(replicas, time.Now()), width-1) // the last column is the cursor's
			}
			v.flush(status)
		}
	}
}

// flush writes the queued lines, and on a terminal the status below them.
func (v *display) flush(status string) {
	v.mu.Lock()
	lines := v.queue
	v.queue = nil
	v.mu.Unlock()
	var b strings.Builder
	if v.width() > 0 {
		b.WriteString("\r\x1b[K") // over the old status
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	b.WriteString(status)
	if b.Len() > 0 {
		_, _ = io.WriteString(v.out, b.String())
	}
}

// statusLine shows what is running and what is next.
func statusLine(replicas []*replica.Replica, now time.Time) string {
	var running []string
	var next scheduler.NextTick
	draining := false
	for _, r := range replicas {
		s := r.Snapshot()
		draining = draining || s.State == scheduler.StateDraining
		for _, run := range s.Running {
			running = append(running, fmt.Sprintf("%s on %s (%v)", run.Job, r.ID(), now.Sub(run.Started).Round(time.Second)))
		}
		if len(s.Next) > 0 && (next.Tick.IsZero() || s.Next[0].Tick.Before(next.Tick)) {
			next = s.Next[0]
		}
	}
	var parts []string
	if draining {
		parts = append(parts, "draining, Ctrl-C again cancels")
	}
	if len(running) > 0 {
		parts = append(parts, "running: "+strings.Join(running, ", "))
	}
	if !next.Tick.IsZero() {
		parts = append(parts, fmt.Sprintf("next: %s in %v", next.Job, max(next.Tick.Sub(now), 0).Round(time.Second)))
	}
	return strings.Join(parts, " · ")
}

// paint colours an outcome on a terminal.
func (v *display) paint(o ledger.Outcome) string {
	if !v.color {
		return string(o)
	}
	code := "31" // red
	switch o {
	case ledger.Succeeded:
		code = "32"
	case ledger.Skipped, ledger.Missed, ledger.Cancelled, ledger.Unreadable:
		code = "33"
	}
	return "\x1b[" + code + "m" + string(o) + "\x1b[0m"
}

// clock is a tick's time of day, with milliseconds only if there are any.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.999") }

// updateFailed shows the mistakes in an edited configuration.
func (v *display) updateFailed(replica string, err error) {
	if err == nil {
		v.once(replica, "the configuration is valid again")
		return
	}
	for _, line := range failure.Lines(err) {
		v.once(replica, "not reloaded: "+line)
	}
}

// once shows an event of all replicas when the first of them reports it.
func (v *display) once(replica, text string) {
	if replica == firstReplica {
		v.say(text)
	}
}
