package failover_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
)

// transferParams say where a run leaves its effect, and what may go wrong.
type transferParams struct {
	URL     string `json:"url"`
	Calm    string `json:"calm"`              // nothing goes wrong once there is a file of this name
	Freezes bool   `json:"freezes,omitempty"` // that replicas freeze after Finish is all that goes wrong
}

// A fate is what happens in a call of transfer, and to its replica.
type fate int

const (
	diesFirst fate = iota
	diesInTransaction
	diesAfterFinish
	diesDuringCommit
	diesAfterCommit
	diesAfterReturn
	diesAsItAsks // whether the run has ended: the function fails after its commit
	freezesAfterFinish
	failsAfterCommit
	givesUpCommit // and returns its error: the commit may have happened
	rollsBack
	livesOn
	fates
)

// fateOf is that of a call.
func (p transferParams) fateOf(run jobs.Run) fate {
	switch _, err := os.Stat(p.Calm); {
	case err == nil:
		return livesOn
	case p.Freezes:
		return freezesAfterFinish
	}
	h := fnv.New64a()
	fmt.Fprint(h, run.Job, run.Tick.Unix(), run.Attempt, run.Call)
	return fate(rand.New(rand.NewPCG(h.Sum64(), 0)).IntN(int(fates)))
}

// meets kills or freezes the replica if it is its fate to meet that here.
func (f fate) meets(at fate) {
	switch {
	case at != f:
	case at == freezesAfterFinish:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the test wakes it
		<-time.After(50 * time.Millisecond)            // the signal comes a little later
	default:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// soon does so some time later, while the caller continues.
func (f fate) soon(at fate, within time.Duration) {
	if at == f {
		go func() {
			<-time.After(rand.N(within))
			f.meets(at)
		}()
	}
}

var errTransfer = errors.New("the transfer fails")

// transfer leaves one effect in the transaction that ends its run. A call for a tick that has
// its effect is noted: the engine must not make it.
func transfer(ctx context.Context, run jobs.Run, p transferParams) error {
	f := p.fateOf(run)
	f.meets(diesFirst)
	conn, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Close(context.WithoutCancel(ctx))
		f.soon(diesAfterReturn, 20*time.Millisecond)
		f.soon(diesAsItAsks, 4*time.Millisecond)
	}()
	if _, err := conn.Exec(ctx, "INSERT INTO again SELECT job, tick FROM effects WHERE job = $1 AND tick = $2", run.Job, run.Tick); err != nil {
		return err
	}
	if err := f.transact(ctx, conn, run); err != nil {
		return err
	}
	f.meets(diesAfterCommit)
	if f == failsAfterCommit || f == diesAsItAsks {
		return errTransfer
	}
	return nil
}

func (f fate) transact(ctx context.Context, conn *pgx.Conn, run jobs.Run) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // does nothing after a commit
	if _, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, $2, $3)", run.Job, run.Tick, int64(run.Token)); err != nil {
		return err
	}
	f.meets(diesInTransaction)
	if err := sqlfence.Finish(ctx, tx.Exec, run); err != nil {
		return err
	}
	f.meets(diesAfterFinish)
	f.meets(freezesAfterFinish)
	f.soon(diesDuringCommit, 2*time.Millisecond)
	switch f {
	case rollsBack:
		return errTransfer
	case givesUpCommit:
		short, stop := context.WithTimeout(ctx, rand.N(time.Millisecond))
		defer stop()
		return tx.Commit(short)
	}
	return tx.Commit(ctx)
}

// transfers is the configuration of so many jobs that transfer.
func transfers(n int, schedule string, p transferParams) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "  transfer-%d: {func: transfer, schedule: %q, overlap: queue, on_crash: rerun, retry: {attempts: 3, backoff: 10ms}, params: {url: %q, calm: %q, freezes: %t}}\n",
			i, schedule, p.URL, p.Calm, p.Freezes)
	}
	return text.String()
}
