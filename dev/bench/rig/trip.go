package rig

import (
	"context"
	"time"
)

// trip calls the script at all servers and waits for the answers.
func (r *Rig) trip(ctx context.Context, sha string) (float64, error) {
	type answer struct {
		took time.Duration
		err  error
	}
	answers := make(chan answer, len(r.clients))
	start := time.Now()
	for _, c := range r.clients {
		go func() {
			err := c.EvalSha(ctx, sha, nil).Err()
			answers <- answer{time.Since(start), err}
		}()
	}
	var quorum time.Duration
	for i := range r.clients {
		a := <-answers
		if a.err != nil {
			return 0, a.err
		}
		if i == Nodes/2 {
			quorum = a.took
		}
	}
	return quorum.Seconds(), nil
}
