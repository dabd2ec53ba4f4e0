package systemd

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lookEvery is the pause between two looks at the readiness of a service.
const lookEvery = 500 * time.Millisecond

// A Service is what is reported of.
type Service struct {
	// NotReady returns why the service does not work now. None: it is ready.
	NotReady func() []string
	// Alive returns whether the service's loop runs. It waits for the loop, so a loop that
	// hangs stops the watchdog's beats.
	Alive func() bool
	// Warn receives the first error.
	Warn func(error)
}

// Report reports until ended is closed. The end of ctx is the begin of the service's stop.
func (m *Manager) Report(ctx context.Context, s Service, ended <-chan struct{}) {
	if m == nil {
		return
	}
	r := reporter{Service: s, send: m.send}
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	var beats <-chan time.Time
	if m.watchdog > 0 {
		ticker := time.NewTicker(m.watchdog / 2)
		defer ticker.Stop()
		beats = ticker.C
	}
	r.report(ctx, looks.C, beats, ended)
}

// A reporter knows what it has reported.
type reporter struct {
	Service
	send func(lines ...string) error

	ready, stopping, warned bool
	status                  string
}

func (r *reporter) report(ctx context.Context, looks, beats <-chan time.Time, ended <-chan struct{}) {
	stop := ctx.Done()
	for {
		r.look(ctx.Err() != nil)
		select {
		case <-looks:
		case <-stop:
			stop = nil
		case <-beats:
			if r.Alive() {
				r.tell("WATCHDOG=1")
			}
		case <-ended:
			r.look(ctx.Err() != nil)
			return
		}
	}
}

// look reports what is new. What could not be sent stays new.
func (r *reporter) look(stopping bool) {
	reasons := r.NotReady()
	ready := r.ready || len(reasons) == 0
	status := "taking ticks"
	if len(reasons) > 0 {
		status = strings.ReplaceAll(strings.Join(reasons, "; "), "\n", " ")
	}
	var lines []string
	if ready && !r.ready {
		lines = append(lines, "READY=1")
	}
	if stopping && !r.stopping {
		lines = append(lines, "STOPPING=1")
	}
	if status != r.status {
		lines = append(lines, "STATUS="+status)
	}
	if len(lines) > 0 && r.tell(lines...) {
		r.ready, r.stopping, r.status = ready, stopping, status
	}
}

// tell sends a message and returns whether that was possible.
func (r *reporter) tell(lines ...string) bool {
	err := r.send(lines...)
	if err != nil && !r.warned {
		r.warned = true
		r.Warn(fmt.Errorf("cannot report to systemd: %w; check NotifyAccess= and RestrictAddressFamilies= of the unit", err))
	}
	return err == nil
}
