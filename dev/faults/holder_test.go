package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

// holderEnv makes the test binary the program of this file: a process that
// holds a lease while it is frozen, and writes all the same.
const holderEnv = "QUORATE_FAULTS_HOLDER"

// An order is a holder's instructions, in its environment.
type order struct {
	Nodes               []membership.NodeConfig
	Timeout, TTL, Grace time.Duration
	Name                string
	Tick                time.Time
	Sink                string // URL that takes writes
}

// A word is one line that a holder prints.
type word struct {
	What  string // granted, written, ended, late or failed
	Token locking.Token
	// Context is the cause with which the work's context had ended when it
	// wrote again; empty if it had not.
	Context string
	// Refused: the sink took that second write for a stale one.
	Refused bool
	// Release is the result of the release.
	Release string
}

// runHolder is the program: it claims the tick and writes; after a line of input it writes
// again, even with an ended context, and releases.
func runHolder(text string, in io.Reader, out io.Writer) int {
	say := json.NewEncoder(out)
	err := hold(text, bufio.NewReader(in), func(w word) { _ = say.Encode(w) })
	switch {
	case errors.Is(err, locking.ErrLeaseLost): // before it could begin
		_ = say.Encode(word{What: "late"})
	case err != nil:
		_ = say.Encode(word{What: "failed", Context: err.Error()})
		return 1
	}
	return 0
}

func hold(text string, in *bufio.Reader, say func(word)) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	set, err := membership.Open(membership.Config{Nodes: o.Nodes, Timeout: o.Timeout, TTL: o.TTL, Grace: o.Grace})
	if err != nil {
		return err
	}
	defer set.Close()
	locker, err := redlock.New(set, redlock.Options{})
	if err != nil {
		return err
	}
	defer locker.Close()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = set.Run(ctx) })
	defer running.Wait()
	defer stop()
	lease, err := obtain(locker, locking.Request{Name: o.Name, Tick: o.Tick, TTL: o.TTL, Holder: "the frozen one"})
	if err != nil {
		return err
	}
	say(word{What: "granted", Token: lease.Claim().Token})
	last := word{What: "ended", Token: lease.Claim().Token}
	cfg := locking.KeepConfig{Every: o.TTL / 3, Margin: o.TTL / 10}
	k := locking.Keep(context.Background(), lease, cfg)
	err = k.Do(func(ctx context.Context) error { return work(ctx, o, lease, cfg.Margin, in, say, &last) })
	k.Stop()
	if err != nil {
		return err
	}
	last.Release = "released"
	if err := lease.Release(context.Background(), nil); errors.Is(err, locking.ErrLeaseLost) {
		last.Release = "lease lost"
	} else if err != nil {
		last.Release = err.Error()
	}
	say(last)
	return nil
}

func obtain(l locking.Locker, req locking.Request) (lease locking.Lease, err error) {
	for range 100 {
		if lease, err = l.TryAcquire(context.Background(), req); err == nil {
			return lease, nil
		}
		time.Sleep(100 * time.Millisecond) // a busy machine lost votes
	}
	return nil, err
}

// work writes, waits for a line, and writes again, late or not.
func work(ctx context.Context, o order, lease locking.Lease, margin time.Duration, in *bufio.Reader, say func(word), last *word) error {
	token := lease.Claim().Token
	if refused, err := write(o, token); err != nil || refused {
		return fmt.Errorf("the first write was refused: %v (%w)", refused, err)
	}
	say(word{What: "written", Token: token})
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	// The state of the context once the process runs again; a timer may need a moment to
	// fire, or an extension to come back.
	for ctx.Err() == nil && locking.Expired(time.Now(), lease.Deadline().Add(-margin)) {
		time.Sleep(time.Millisecond)
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, locking.ErrLeaseLost):
		last.Context = locking.ErrLeaseLost.Error() // without the details
	case cause != nil:
		last.Context = cause.Error()
	}
	var err error
	last.Refused, err = write(o, token)
	return err
}

// write sends one to the sink, which refuses stale tokens with 412.
func write(o order, token locking.Token) (refused bool, err error) {
	req, err := http.NewRequest(http.MethodPost, o.Sink+"/"+o.Name, http.NoBody)
	if err != nil {
		return false, err
	}
	req.Header.Set("Fencing-Token", strconv.FormatUint(uint64(token), 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusPreconditionFailed, nil
}
