package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// transferParams say where a run leaves its effect.
type transferParams struct {
	DSN  string `json:"dsn"`
	Calm string `json:"calm"` // nothing goes wrong once there is a file of this name
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
	failsAfterCommit
	losesConnection // at the commit, which may have happened
	rollsBack
	livesOn
	fates
)

// fateOf is that of a call.
func (p transferParams) fateOf(run jobs.Run) fate {
	if _, err := os.Stat(p.Calm); err == nil {
		return livesOn
	}
	h := fnv.New64a()
	fmt.Fprint(h, run.Job, run.Tick.Unix(), run.Attempt, run.Call)
	return fate(rand.New(rand.NewPCG(h.Sum64(), 0)).IntN(int(fates)))
}

// meets kills the replica if it is its fate to meet that here.
func (f fate) meets(at fate) {
	if at == f {
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

// transfer leaves one effect in the transaction that ends its run. A call for a tick that has its effect is
// noted: the engine must not make it.
func transfer(ctx context.Context, run jobs.Run, p transferParams) error {
	f := p.fateOf(run)
	f.meets(diesFirst)
	db, err := sql.Open("mysql", p.DSN)
	if err != nil {
		return err
	}
	defer func() {
		_ = db.Close()
		f.soon(diesAfterReturn, 20*time.Millisecond)
		f.soon(diesAsItAsks, 4*time.Millisecond)
	}()
	tick := run.Tick.UnixMilli()
	if _, err := db.ExecContext(ctx, "INSERT INTO again SELECT job, tick FROM effects WHERE job = ? AND tick = ?", run.Job, tick); err != nil {
		return err
	}
	if err := f.transact(ctx, db, run); err != nil {
		return err
	}
	f.meets(diesAfterCommit)
	if f == failsAfterCommit || f == diesAsItAsks {
		return errTransfer
	}
	return nil
}

func (f fate) transact(ctx context.Context, db *sql.DB, run jobs.Run) error {
	tx, err := db.BeginTx(ctx, nil) // at REPEATABLE READ, the default
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it does nothing after a commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (?, ?, ?)", run.Job, run.Tick.UnixMilli(), uint64(run.Token)); err != nil {
		return err
	}
	f.meets(diesInTransaction)
	if err := Finish(ctx, tx, run); err != nil {
		return err
	}
	f.meets(diesAfterFinish)
	f.soon(diesDuringCommit, 4*time.Millisecond)
	switch f {
	case rollsBack:
		return errTransfer
	case losesConnection:
		var id int64
		if err := tx.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		go func() {
			<-time.After(rand.N(4 * time.Millisecond))
			_, _ = db.ExecContext(ctx, fmt.Sprint("KILL ", id)) // its own: it needs no right
		}()
	}
	return tx.Commit()
}

// A finishing is a campaign whose runs end in the transactions of their effects.
type finishing struct {
	*campaigntest.Campaign
	db   *sql.DB // of root
	calm string
}

const transferJobs = 4

// newFinishing starts the replicas.
func newFinishing(t *testing.T) *finishing {
	t.Helper()
	on := mysqltest.Start(t)
	c := &finishing{Campaign: campaigntest.New(t), db: on.DB(t)}
	c.Store, c.calm = new(Store), c.Sink+".calm"
	migrate(t, on, "campaign")
	on.Exec(t, "CREATE USER replica IDENTIFIED BY 'Geheim1'", Grants("campaign", "replica"), "CREATE USER app IDENTIFIED BY 'Geheim1'", Grants("campaign", "app"),
		"CREATE DATABASE shop", "GRANT ALL ON shop.* TO app",
		"CREATE TABLE shop.effects (job VARCHAR(64), tick BIGINT, token BIGINT UNSIGNED, KEY (job, tick)) ENGINE=InnoDB",
		"CREATE TABLE shop.again (job VARCHAR(64), tick BIGINT) ENGINE=InnoDB")
	app := mysql.NewConfig()
	app.User, app.Passwd, app.Net, app.Addr, app.DBName = "app", "Geheim1", "tcp", on.Addr(), "shop"
	var text strings.Builder
	for i := range transferJobs {
		fmt.Fprintf(&text, "  transfer-%d: {func: transfer, schedule: '@every 2s', overlap: queue, on_crash: rerun, retry: {attempts: 3, backoff: 10ms}, params: {dsn: %q, calm: %q}}\n",
			i, app.FormatDSN(), c.calm)
	}
	c.Configure(fmt.Sprintf("mysql: {url: 'mysql://replica:Geheim1@%s', failover_grace: %s, timeout: %s}", on.Addr(), campaigntest.Grace, campaigntest.Timeout), text.String())
	c.calms() // no run kills the replica that drains first
	c.Begin()
	if err := os.Remove(c.calm); err != nil {
		t.Fatal(err)
	}
	return c
}

// calms ends the faults.
func (c *finishing) calms() {
	c.Helper()
	if err := os.WriteFile(c.calm, nil, 0o600); err != nil {
		c.Fatal(err)
	}
}

// TestCampaignFinish kills replicas between any two steps of runs that end in the transaction of their
// effects, and lets functions fail there. Each tick that succeeded has exactly one effect, every other tick
// none, and no function is called again after its commit.
func TestCampaignFinish(t *testing.T) {
	if !length.Whole() {
		t.Skip("it is part of the proof")
	}
	t.Parallel()
	c := newFinishing(t)
	for deaths := 0; deaths < 200; c.Wait(50 * time.Millisecond) {
		for id, p := range c.Replicas {
			select {
			case <-p.Exited:
				deaths++
				c.Start(id)
			default:
			}
		}
	}
	c.calms()
	c.Ready()
	c.Wait(2 * campaigntest.TTL)
	c.Must("pause", "--all", "--reason", "the end")
	c.Wait(2 * time.Second) // until all replicas know
	c.Eventually("all runs have ended", func() bool {
		for _, row := range c.ticks() {
			if row.Outcome == "running" {
				return false
			}
		}
		return true
	})
	c.Drain()
	c.checkEffects()
}

// A transferred is a tick, as effects name it.
type transferred struct {
	job  string
	tick int64
}

// ticks are those of the ledger.
func (c *finishing) ticks() map[transferred]view.Tick {
	c.Helper()
	all := map[transferred]view.Tick{}
	for i := range transferJobs {
		var list []view.Tick
		if err := json.Unmarshal([]byte(c.Must("ticks", fmt.Sprint("transfer-", i), "--limit", "1000", "-o", "json")), &list); err != nil {
			c.Fatal(err)
		}
		for _, row := range list {
			all[transferred{row.Job, view.Time(&row.Tick).UnixMilli()}] = row
		}
	}
	return all
}

// checkEffects compares the ledger with the effects that there are.
func (c *finishing) checkEffects() {
	c.Helper()
	rows, err := c.db.QueryContext(c.Context(), "SELECT job, tick, COUNT(*), MAX(token) FROM shop.effects GROUP BY job, tick")
	if err != nil {
		c.Fatal(err)
	}
	defer rows.Close()
	ticks, outcomes := c.ticks(), map[string]int{}
	effects := map[transferred]int{}
	for rows.Next() {
		var at transferred
		var n int
		var token uint64
		if err := rows.Scan(&at.job, &at.tick, &n, &token); err != nil {
			c.Fatal(err)
		}
		effects[at] = n
		row, known := ticks[at]
		if !known || n != 1 || row.Outcome != "succeeded" || row.Token == nil || uint64(*row.Token) != token {
			c.Errorf("%s at %s has %d effects, the last of token %d; the ledger has %+v", at.job, time.UnixMilli(at.tick).UTC(), n, token, row)
		}
	}
	if err := rows.Err(); err != nil {
		c.Fatal(err)
	}
	for at, row := range ticks {
		key := string(row.Outcome)
		if row.Attempt != nil && *row.Attempt > 1 {
			key += " later"
		}
		outcomes[key]++
		if row.Outcome == "running" || row.Outcome == "succeeded" && effects[at] != 1 {
			c.Errorf("%s at %s is %s, with %d effects", at.job, row.Tick, row.Outcome, effects[at])
		}
	}
	var again int
	if err := c.db.QueryRowContext(c.Context(), "SELECT COUNT(*) FROM shop.again").Scan(&again); err != nil || again > 0 {
		c.Errorf("functions were called again %d times after their commit, %v", again, err)
	}
	if outcomes["succeeded"] < 5 || outcomes["succeeded later"] == 0 {
		c.Errorf("too little has happened: %v", outcomes)
	}
	c.Logf("outcomes: %v", outcomes)
}
