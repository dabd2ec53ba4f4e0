package failover_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/pgtest"
)

// A finishing is a campaign whose runs end in the transactions of their effects.
type finishing struct {
	*campaigntest.Campaign
	conn   *pgx.Conn
	params transferParams
}

// newFinishing starts the replicas with so many jobs.
func newFinishing(t *testing.T, jobs int, schedule string, p transferParams) *finishing {
	t.Helper()
	s := pgtest.Start(t)
	c := &finishing{Campaign: campaigntest.New(t)}
	var err error
	if c.conn, err = pgx.Connect(t.Context(), s.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.conn.Close(t.Context()) })
	const tables = "CREATE TABLE effects (job text, tick timestamptz, token bigint); CREATE TABLE again (job text, tick timestamptz)"
	if _, err := c.conn.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	p.URL, p.Calm = s.URL(), c.Sink+".calm"
	c.params = p
	onPostgres(c.Campaign, s.URL(), transfers(jobs, schedule, p))
	c.calm() // no run kills the replica that drains first
	c.Begin()
	if err := os.Remove(p.Calm); err != nil {
		t.Fatal(err)
	}
	return c
}

// calm ends the faults.
func (c *finishing) calm() {
	c.Helper()
	if err := os.WriteFile(c.params.Calm, nil, 0o600); err != nil {
		c.Fatal(err)
	}
}

// TestCampaignFinish kills and freezes replicas between any two steps of runs that end in the
// transaction of their effects, and lets functions fail there. Each tick that succeeded has
// exactly one effect, every other tick none, and no function is called again after its commit.
func TestCampaignFinish(t *testing.T) {
	t.Parallel()
	c := newFinishing(t, 4, "@every 2s", transferParams{})
	deaths, most := 0, length.Of(12, 200)
	var until time.Time // set once it is calm
	for wake := time.Now(); until.IsZero() || time.Now().Before(until); c.Wait(50 * time.Millisecond) {
		if deaths >= most && until.IsZero() {
			c.calm()
			until = time.Now().Add(2 * campaigntest.TTL)
		}
		if time.Since(wake) > campaigntest.TTL+time.Second {
			wake = time.Now()
			c.thaw()
		}
		for id, p := range c.Replicas {
			select {
			case <-p.Exited:
				deaths++
				c.Start(id)
			default:
			}
		}
	}
	t.Logf("%4d × replicas killed by a run", deaths)
	c.stops()
	outcomes := c.checkEffects()
	if outcomes["succeeded"] < 5 || outcomes["succeeded in run 2"] == 0 {
		t.Errorf("too little has happened: %v", outcomes)
	}
}

// thaw wakes the replicas that are frozen.
func (c *finishing) thaw() {
	for _, p := range c.Replicas {
		p.Signal(syscall.SIGCONT)
	}
}

// stops pauses the jobs, waits until every run has ended, and drains the replicas.
func (c *finishing) stops() {
	c.Helper()
	c.thaw()
	c.Ready()
	c.Must("pause", "--all", "--reason", "the end")
	c.Wait(2 * time.Second) // until all replicas know
	c.Eventually("all runs have ended", func() bool { return c.count("campaign.ticks WHERE outcome = 'running'") == 0 })
	for _, p := range c.Replicas {
		p.Drain()
	}
}

// count counts rows.
func (c *finishing) count(of string) (n int) {
	c.Helper()
	if err := c.conn.QueryRow(c.Context(), "SELECT count(*) FROM "+of).Scan(&n); err != nil {
		c.Fatal(err)
	}
	return n
}

// checkEffects compares what the ledger says with the effects that there are. It returns how
// many ticks have which outcome.
func (c *finishing) checkEffects() map[string]int {
	c.Helper()
	rows, err := c.conn.Query(c.Context(), `
		SELECT coalesce(t.job, e.job), coalesce(t.tick, e.tick), coalesce(t.outcome, 'no row'), coalesce(t.runs, 0), coalesce(t.token, 0),
			count(e.token), coalesce(max(e.token), 0)
		FROM campaign.ticks t FULL JOIN effects e ON e.job = t.job AND e.tick = t.tick
		GROUP BY t.job, e.job, t.tick, e.tick, t.outcome, t.runs, t.token`)
	if err != nil {
		c.Fatal(err)
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
			c.Errorf("%s %s is %s after %d runs, the last with token %d: it has %d effects, the last of token %d",
				job, tick.UTC().Format(time.RFC3339), outcome, runs, token, effects, by)
		}
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
	if n := c.count("again"); n > 0 {
		c.Errorf("functions were called again %d times after their commit", n)
	}
	for what, n := range outcomes {
		c.Logf("%4d × %s", n, what)
	}
	return outcomes
}
