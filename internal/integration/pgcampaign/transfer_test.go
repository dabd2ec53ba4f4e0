package pgcampaign_test

import (
	"context"
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

// transferParams say where a run leaves its effect, and until when its replica may die of it.
type transferParams struct {
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

// What happens to the replica in a run.
const (
	diesFirst = iota
	diesInTransaction
	diesAfterFinish
	diesDuringCommit
	diesAfterCommit
	diesAfterReturn
	freezesAfterFinish
	livesOn
	fates
)

// fateOf is that of the replica in this run.
func (p transferParams) fateOf(run jobs.Run) int {
	if time.Now().After(p.Until) {
		return livesOn
	}
	h := fnv.New32a()
	fmt.Fprint(h, run.Job, run.Tick.Unix(), run.Attempt)
	return int(h.Sum32() % fates)
}

// transfer leaves one effect in the transaction that ends its run.
func transfer(ctx context.Context, run jobs.Run, p transferParams) error {
	fate := p.fateOf(run)
	meets := func(at int) {
		switch {
		case at != fate:
		case at == freezesAfterFinish:
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the test wakes it
		default:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	soon := func(at int, within time.Duration) {
		if at == fate {
			go func() {
				<-time.After(rand.N(within))
				meets(at)
			}()
		}
	}
	meets(diesFirst)
	conn, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Close(context.WithoutCancel(ctx))
		soon(diesAfterReturn, 20*time.Millisecond)
	}()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, $2, $3)", run.Job, run.Tick, int64(run.Token)); err != nil {
			return err
		}
		meets(diesInTransaction)
		if err := sqlfence.Finish(ctx, tx.Exec, "campaign", run); err != nil {
			return err
		}
		meets(diesAfterFinish)
		meets(freezesAfterFinish)
		soon(diesDuringCommit, 2*time.Millisecond)
		return nil
	})
	if err == nil {
		meets(diesAfterCommit)
	}
	return err
}

// transfers is the configuration of so many jobs that transfer.
func transfers(n int, url string, until time.Time) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "  %s: {func: transfer, schedule: \"@every 2s\", overlap: queue, on_crash: rerun, params: {url: %q, until: %q}}\n",
			transferJob(i), url, until.UTC().Format(time.RFC3339))
	}
	return text.String()
}

func transferJob(i int) string { return fmt.Sprint("transfer-", i) }
