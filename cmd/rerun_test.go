package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/httpfence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignRerun kills and freezes the winner of a job with reruns between two writes to
// a guarded sink. Each time attempt 2 runs elsewhere, with a larger token; the late write
// of the frozen one is refused.
func TestCampaignRerun(t *testing.T) {
	t.Parallel()
	c := campaigntest.New(t)
	sink := newGuardedSink(t, c.Sink)
	c.Config = writeConfig(t, redistest.StartN(t, 5), fmt.Sprintf(`
jobs:
  invoices:
    func: write-twice
    schedule: "@every 1s"
    on_crash: rerun
    params: {sink: %s, pause: 2s}
`, sink.url))
	initNew(t, c.Config)
	c.Start(campaigntest.IDs()...)
	c.Ready()
	from := time.Now()

	t.Log("killed between its writes")
	first := sink.next(t, func(w guardedWrite) bool { return w.stage == 1 && w.attempt == 1 })
	c.Replicas[first.replica].Kill()
	second := sink.next(t, func(w guardedWrite) bool { return w.tick == first.tick && w.attempt == 2 && w.stage == 2 })
	checkSucceeds(t, first, second)
	c.Start(first.replica)
	c.Ready()
	wantRuns(t, c.Config, first.tick, ledger.Interrupted, ledger.Succeeded)

	t.Log("frozen between its writes")
	sink.forget()
	first = sink.next(t, func(w guardedWrite) bool { return w.stage == 1 && w.attempt == 1 })
	thaw := c.Replicas[first.replica].Freeze()
	second = sink.next(t, func(w guardedWrite) bool { return w.tick == first.tick && w.attempt == 2 && w.stage == 1 })
	thaw()
	checkSucceeds(t, first, second)
	late := sink.next(t, func(w guardedWrite) bool { return w.tick == first.tick && w.attempt == 1 && w.stage == 2 })
	if late.status != http.StatusPreconditionFailed {
		t.Errorf("the late write of attempt 1 got status %d, want it refused", late.status)
	}
	wantRuns(t, c.Config, first.tick, ledger.LeaseLost, ledger.Succeeded)
	c.Due("invoices", time.Second, from, time.Now())
	c.CheckTruth()
}

// checkSucceeds wants the second write to be of another replica's later claim,
// and both to be taken.
func checkSucceeds(t *testing.T, first, second guardedWrite) {
	t.Helper()
	if first.status != http.StatusOK || second.status != http.StatusOK || second.replica == first.replica || second.token <= first.token {
		t.Errorf("after %+v came %+v; want another replica, a larger token, and both writes taken", first, second)
	}
}

// wantRuns wants a tick to have two attempts that ended so.
func wantRuns(t *testing.T, config, tick string, first, second ledger.Outcome) {
	t.Helper()
	eventually(t, "both attempts of "+tick+" in the ledger", func() bool {
		ended := map[int]ledger.Outcome{}
		for _, row := range list[view.Run](t, "runs", "invoices", "-c", config) {
			if row.Tick == tick {
				ended[*row.Attempt] = row.Outcome
			}
		}
		return len(ended) == 2 && ended[1] == first && ended[2] == second
	})
}

// A guardedWrite is one write of a run, and the sink's answer.
type guardedWrite struct {
	tick, replica          string
	attempt, stage, status int
	token                  locking.Token
}

// A guardedSink takes writes, but no stale ones.
type guardedSink struct {
	url    string
	lines  string // a file with those that it took
	writes chan guardedWrite
}

func newGuardedSink(t *testing.T, lines string) *guardedSink {
	t.Helper()
	s := &guardedSink{lines: lines, writes: make(chan guardedWrite, 1000)}
	guarded := (&httpfence.Middleware{Guard: fence.NewMemory()}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		guarded.ServeHTTP(answer, r)
		q := r.URL.Query()
		number := func(text string) int { n, _ := strconv.Atoi(text); return n }
		write := guardedWrite{
			tick: q.Get("tick"), replica: q.Get("replica"), attempt: number(q.Get("attempt")), stage: number(q.Get("stage")),
			status: answer.Code, token: locking.Token(number(r.Header.Get("Fencing-Token"))),
		}
		if err := s.keep(write); err != nil {
			t.Error(err)
		}
		s.writes <- write
		w.WriteHeader(answer.Code)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// keep adds a line for a write that was taken.
func (s *guardedSink) keep(w guardedWrite) error {
	if w.status != http.StatusOK {
		return nil
	}
	f, err := os.OpenFile(s.lines, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %d %s invoices %s\n", w.tick, w.token, w.replica, map[int]string{1: campaigntest.Began, 2: "finished"}[w.stage])
	return errors.Join(err, f.Close())
}

// forget drops earlier writes: their runs may be over.
func (s *guardedSink) forget() {
	for len(s.writes) > 0 {
		<-s.writes
	}
}

// next waits for the next write that is wanted.
func (s *guardedSink) next(t *testing.T, wanted func(guardedWrite) bool) guardedWrite {
	t.Helper()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		select {
		case w := <-s.writes:
			if wanted(w) {
				return w
			}
		case <-giveUp.C:
			t.Fatal("the write that is waited for does not come")
		}
	}
}

// twiceParams are those of write-twice.
type twiceParams struct {
	Sink  string        `json:"sink"`
	Pause time.Duration `json:"pause"`
}

// writeTwice is a function that ignores its context: it writes, pauses, and writes again.
func writeTwice(_ context.Context, run jobs.Run, p twiceParams) error {
	client := http.Client{Transport: httpfence.Transport{}}
	ctx := httpfence.WithBearer(context.Background(), run)
	for stage := 1; stage <= 2; stage++ {
		query := url.Values{
			"tick": {jobs.FormatTick(run.Tick)}, "replica": {run.Replica},
			"attempt": {strconv.Itoa(run.Attempt)}, "stage": {strconv.Itoa(stage)},
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Sink+"?"+query.Encode(), http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if stage == 1 {
			<-time.After(p.Pause)
		}
	}
	return nil
}
