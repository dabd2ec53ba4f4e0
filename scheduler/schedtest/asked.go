package schedtest

import (
	"context"

	"github.com/quorate/quorate/scheduler/acts"
)

// author is the author of acts in tests.
const author = "schedtest"

// Trigger requests a run of the job now, as `quorate trigger` does.
func (c *Cluster) Trigger(job string) acts.Act {
	c.t.Helper()
	return c.Do(acts.Act{Kind: acts.Trigger, Job: c.known(job)})
}

// Pause makes the job skip its ticks until Resume. Replicas see it within Config.ActsEvery.
func (c *Cluster) Pause(job, reason string) {
	c.t.Helper()
	c.Do(acts.Act{Kind: acts.Pause, Job: c.known(job), Reason: reason})
}

// Resume ends a Pause.
func (c *Cluster) Resume(job string) {
	c.t.Helper()
	c.Do(acts.Act{Kind: acts.Resume, Job: c.known(job), Reason: "resumed"})
}

// Do stores any act, for example a backfill, a cancel, or a trigger with params, and
// returns it as stored. Its Job is a key. Nodes that do not answer end the test.
func (c *Cluster) Do(act acts.Act) acts.Act {
	c.t.Helper()
	if act.By == "" {
		act.By = author
	}
	ctx := context.WithoutCancel(c.t.Context())
	if err := c.world.ask(ctx); err != nil {
		c.t.Fatal(err)
	}
	act, err := c.world.stores.Acts.Do(ctx, act)
	if err != nil {
		c.t.Fatal(err)
	}
	return act
}

// Audit returns every act of the test with its result, newest first.
func (c *Cluster) Audit() []acts.Act {
	c.t.Helper()
	acts, err := c.world.stores.Acts.Audit(context.WithoutCancel(c.t.Context()), remembered)
	if err != nil {
		c.t.Fatal(err)
	}
	return acts
}

// gatedActs are the acts behind a gate.
type gatedActs struct{ *gate }

func (g gatedActs) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	if err := g.through(ctx); err != nil {
		return acts.Act{}, err
	}
	return g.stores.Acts.Do(ctx, act)
}

func (g gatedActs) Open(ctx context.Context) (acts.Open, error) {
	if err := g.through(ctx); err != nil {
		return acts.Open{}, err
	}
	return g.stores.Acts.Open(ctx)
}

func (g gatedActs) Close(ctx context.Context, id, result string) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Acts.Close(ctx, id, result)
}

func (g gatedActs) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Acts.Audit(ctx, limit)
}
