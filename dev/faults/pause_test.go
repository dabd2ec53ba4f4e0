package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// A pause is one holder that was frozen and thawed.
type pause struct {
	share   float64 // of the ttl
	last    word
	next    locking.Token // of the run while it was frozen; zero if there was none
	refused bool          // the next one's write
}

// A process is frozen while it holds the lock. If another took over after its lease, its
// context has ended when it runs again, and its late write and release are refused.
// Otherwise nothing is lost.
func TestHolderPauses(t *testing.T) {
	t.Parallel()
	dice(t)
	d := length.Of(
		times{timeout: 400 * time.Millisecond, ttl: 2 * time.Second, grace: 3 * time.Second},
		times{timeout: 240 * time.Millisecond, ttl: time.Second, grace: 2 * time.Second},
	)
	c := newCluster(t, d)
	s, next := newSink(t), c.replica(t, nil)
	var list []pause
	for round := range length.Of(1, 4) {
		for _, share := range length.Of([]float64{0}, []float64{0.5, 1.5, 3}) {
			var mu sync.Mutex
			t.Run(fmt.Sprintf("round %d, %v ttl", round, share), func(t *testing.T) {
				for n := range length.Of(3, 20) {
					share := share
					if share == 0 {
						share = []float64{0.5, 1.5, 3}[n]
					}
					t.Run(fmt.Sprint(n), func(t *testing.T) {
						t.Parallel()
						name := fmt.Sprintf("job-%d-%v-%d", round, share, n)
						p := pauseHolder(t, c, s, next, name, share)
						mu.Lock()
						defer mu.Unlock()
						list = append(list, p)
					})
				}
			})
		}
	}
	report(t, "pauses", pauseTable(list))
}

// pauseHolder freezes one holder for a share of the ttl, and for as long as it
// takes somebody else to run where the lease cannot outlast the pause.
func pauseHolder(t *testing.T, c *cluster, s *sink, next *replica, name string, share float64) pause {
	t.Helper()
	h, token := working(t, order{
		Nodes: c.config(redistest.URLs(c.servers)).Nodes, Timeout: c.cfg.Timeout, TTL: c.cfg.TTL, Grace: c.cfg.Grace,
		Name: name, Tick: past(1), Sink: s.URL,
	})
	h.signal(syscall.SIGSTOP)
	p := pause{share: share}
	thaw := time.Now().Add(time.Duration(share * float64(c.cfg.TTL)))
	req := c.request(past(2))
	req.Name = name
	for giveUp := time.Now().Add(patience); p.next == 0 && (share > 1 || time.Now().Before(thaw)); {
		if time.Now().After(giveUp) {
			t.Fatal("nobody takes over from a frozen holder")
		}
		if lease, err := next.TryAcquire(t.Context(), req); err == nil {
			p.next = lease.Claim().Token
			p.refused = !s.admit("/"+name, p.next)
			mustRelease(t, lease)
		}
		wait(t, 20*time.Millisecond)
	}
	wait(t, time.Until(thaw))
	h.signal(syscall.SIGCONT)
	fmt.Fprintln(h.in, "write")
	p.last = h.hear("ended")
	p.check(t, token)
	return p
}

// working starts a holder that has written once.
func working(t *testing.T, o order) (*holder, locking.Token) {
	t.Helper()
	for n := 0; ; n++ {
		o.Tick = past(1).Add(time.Duration(n) * time.Millisecond)
		h := startHolder(t, o)
		token := h.hear("granted").Token
		// A busy machine may let a lease run out before the work begins.
		if n == 10 || h.hear("written", "late").What == "written" {
			return h, token
		}
	}
}

// check judges by the events, not by durations.
func (p pause) check(t *testing.T, token locking.Token) {
	t.Helper()
	switch {
	case p.next == 0 && p.last.Refused:
		t.Errorf("nobody else ran, and the holder's write was refused: %+v", p.last)
	case p.next == 0:
	case p.next <= token:
		t.Errorf("token %d after %d", p.next, token)
	case p.refused:
		t.Errorf("the write of the next holder was refused")
	case !p.last.Refused:
		t.Errorf("a stale write was admitted: %+v, next token %d", p.last, p.next)
	case p.last.Context != locking.ErrLeaseLost.Error():
		t.Errorf("somebody else ran, and the holder's context says %q", p.last.Context)
	case p.last.Release != "lease lost":
		t.Errorf("somebody else ran, and the holder's release says %q", p.last.Release)
	}
}

// A holder is a process of the program in holder_test.go.
type holder struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    interface{ Write([]byte) (int, error) }
	words *bufio.Scanner
}

func startHolder(t *testing.T, o order) *holder {
	t.Helper()
	env, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+string(env))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended, or be frozen
		_ = cmd.Wait()
	})
	return &holder{t: t, cmd: cmd, in: in, words: bufio.NewScanner(out)}
}

func (h *holder) signal(sig syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(sig); err != nil {
		h.t.Fatal(err)
	}
}

// hear waits for the next word, which must be one of the given.
func (h *holder) hear(what ...string) word {
	h.t.Helper()
	var w word
	if !h.words.Scan() {
		h.t.Fatalf("the holder ended before it said %v: %v", what, h.words.Err())
	}
	if err := json.Unmarshal(h.words.Bytes(), &w); err != nil || !slices.Contains(what, w.What) {
		h.t.Fatalf("the holder says %s, want %v (%v)", h.words.Bytes(), what, err)
	}
	return w
}

// pauseTable counts the results per length of the pause.
func pauseTable(list []pause) string {
	var b strings.Builder
	b.WriteString("| frozen for | holders | another replica ran meanwhile, with a larger token | context ended with lease lost | late write refused | admitted | release said lease lost |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, share := range []float64{0.5, 1.5, 3} {
		var all, taken, ended, refused, lost int
		for _, p := range list {
			if p.share != share {
				continue
			}
			all++
			taken += one(p.next > p.last.Token)
			ended += one(p.last.Context == locking.ErrLeaseLost.Error())
			refused += one(p.last.Refused)
			lost += one(p.last.Release == "lease lost")
		}
		fmt.Fprintf(&b, "| %v × ttl | %d | %d | %d | %d | %d | %d |\n", share, all, taken, ended, refused, all-refused, lost)
	}
	return b.String()
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
