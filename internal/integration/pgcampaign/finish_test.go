package pgcampaign_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/store/postgres/pgtest"
)

// TestCampaignFinish kills and freezes replicas between any two steps of runs that end in the
// transaction of their effects. Each tick that succeeded has exactly one effect, and every
// other tick none.
func TestCampaignFinish(t *testing.T) {
	t.Parallel()
	const jobs = 4
	s := pgtest.Start(t)
	c := newCampaign(t)
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if _, err := conn.Exec(t.Context(), "CREATE TABLE effects (job text, tick timestamptz, token bigint)"); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(lasting(12*time.Second, 4*time.Minute))
	c.beginWith(s.URL(), transfers(jobs, s.URL(), until), jobs)

	deaths := 0
	for wake := time.Now(); time.Now().Before(until.Add(window)); wait(t, 50*time.Millisecond) {
		if time.Since(wake) > ttl+time.Second {
			wake = time.Now()
			for _, p := range c.replicas {
				p.signal(syscall.SIGCONT)
			}
		}
		for id, p := range c.replicas {
			select {
			case <-p.exited:
				deaths++
				c.start(id)
			default:
			}
		}
	}
	t.Logf("%4d × replicas killed by a run", deaths)
	if want := lasting(6, 200); deaths < want {
		t.Errorf("runs have killed %d replicas, want %d", deaths, want)
	}
	for _, p := range c.replicas {
		p.signal(syscall.SIGCONT)
	}
	c.ready()
	c.stops()
	c.checkEffects(conn)
}

// stops pauses the jobs, waits until every run has ended, and drains the replicas.
func (c *campaign) stops() {
	c.t.Helper()
	must(c.t, "pause", "--all", "--reason", "the end", "-c", c.config)
	wait(c.t, window+ttl+2*time.Second)
	for _, p := range c.replicas {
		p.drain()
	}
}

// checkEffects compares what the ledger says with the effects that there are.
func (c *campaign) checkEffects(conn *pgx.Conn) {
	c.t.Helper()
	rows, err := conn.Query(c.t.Context(), `
		SELECT coalesce(t.job, e.job), coalesce(t.tick, e.tick), coalesce(t.outcome, 'no row'), coalesce(t.runs, 0), coalesce(t.token, 0),
			count(e.token), coalesce(max(e.token), 0)
		FROM campaign.ticks t FULL JOIN effects e ON e.job = t.job AND e.tick = t.tick
		GROUP BY t.job, e.job, t.tick, e.tick, t.outcome, t.runs, t.token`)
	if err != nil {
		c.t.Fatal(err)
	}
	outcomes := map[string]int{}
	var job, outcome string
	var tick time.Time
	var runs, token, effects, by int64
	_, err = pgx.ForEachRow(rows, []any{&job, &tick, &outcome, &runs, &token, &effects, &by}, func() error {
		key := outcome
		if runs > 1 {
			key += fmt.Sprintf(" in run %d", runs)
		}
		outcomes[key]++
		switch succeeded := outcome == "succeeded"; {
		case succeeded && (effects != 1 || by != token), !succeeded && effects != 0, outcome == "running":
			c.t.Errorf("%s %s is %s after %d runs, the last with token %d: it has %d effects, the last of token %d",
				job, tick.UTC().Format(time.RFC3339), outcome, runs, token, effects, by)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for what, n := range outcomes {
		c.t.Logf("%4d × %s", n, what)
	}
	if outcomes["succeeded"] < 5 || outcomes["succeeded in run 2"] == 0 {
		c.t.Errorf("too little has happened: %v", outcomes)
	}
}
