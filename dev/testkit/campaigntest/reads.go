package campaigntest

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/readmodel"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/connect"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/stores/postgres"
)

// CheckReads fails the test if what pages say of the jobs is not what the ledger and the sink say. It may be called
// whenever the store answers. While replicas live, it leaves out jobs whose ticks come faster than it reads.
func (c *Campaign) CheckReads() {
	c.Helper()
	c.Report(c.untrueReads())
}

// untrueReads returns what CheckReads finds wrong.
func (c *Campaign) untrueReads() (wrong []string) {
	c.Helper()
	began := time.Now()
	quiet := !slices.ContainsFunc(c.incarnations, func(r *Replica) bool { return r.Incarnation().Until.IsZero() })
	cluster := c.openStore()
	defer func() { _ = cluster.Close() }()
	c.session.Pause = 300 * time.Millisecond
	var result readmodel.Result
	c.Eventually("the store answers to all that pages read", func() (ok bool) {
		var err error
		result, err = c.session.Compare(c.Context(), view.ControlOf(cluster).Reader, quiet, func() []checker.Effect {
			return append([]checker.Effect{}, c.Effects()...) // also without a line, the jobs are those that write
		})
		if err != nil { // it is slow on a busy machine
			c.Logf("reading as a page does: %v", err)
		}
		return err == nil
	})
	for _, lie := range result.Lies {
		wrong = append(wrong, fmt.Sprintf("the read model lies: %v", lie))
	}
	if quiet && (len(result.Changing) > 0 || len(result.Compared) == 0) {
		wrong = append(wrong, fmt.Sprintf("the read model still changes of %q, although no replica runs; it was compared of %q", result.Changing, result.Compared))
	}
	c.Logf("read model compared with ledger and sink in %v: of %q, not of %q", time.Since(began).Round(time.Millisecond), result.Compared, result.Changing)
	return wrong
}

// openStore opens the store as commands do.
func (c *Campaign) openStore() store.Cluster {
	c.Helper()
	cfg, err := config.ReadCluster(config.Source{Path: c.Config})
	if err != nil {
		c.Fatal(err)
	}
	options := connect.Options{Server: c.Store}
	if c.Store == nil {
		options.Server = new(postgres.Store)
	}
	cluster, err := connect.Open(c.Context(), cfg, options)
	if err != nil {
		c.Fatal(err)
	}
	if nodes, is := cluster.(*quorum.Cluster); is {
		nodes.Set.LearnEpoch(c.Context()) // requests carry that of the list of nodes
	}
	return cluster
}

// pausedAtEnd is the job that is paused once all replicas have ended, so pages show a pause.
const pausedAtEnd = "slow"

// readsAtEnd returns what pages say wrongly once all replicas have ended.
func (c *Campaign) readsAtEnd() []string {
	c.Helper()
	c.Must("pause", pausedAtEnd, "--reason", "the campaign has ended")
	return c.untrueReads()
}
