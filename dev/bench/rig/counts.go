package rig

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Commands returns how many of the named commands the servers have run so far,
// all together. Those that scripts ran count too, so name none that they use.
func (r *Rig) Commands(ctx context.Context, names ...string) (int, error) {
	sum := 0
	err := r.each(func(c *redis.Client) error {
		info, err := c.Info(ctx, "commandstats").Result()
		sum += calls(info, names)
		return err
	})
	return sum, err
}

// calls adds up lines such as "cmdstat_evalsha:calls=12,usec=…".
func calls(info string, names []string) int {
	sum := 0
	for line := range strings.Lines(info) {
		command, stats, _ := strings.Cut(line, ":")
		name, ok := strings.CutPrefix(command, "cmdstat_")
		if !ok || !slices.Contains(names, name) {
			continue
		}
		stats = strings.TrimPrefix(stats, "calls=")
		count, _, _ := strings.Cut(stats, ",")
		n, _ := strconv.Atoi(count) // the server writes numbers
		sum += n
	}
	return sum
}

// QuorumTrip returns a function that asks all servers for next to nothing at
// once and returns how long a quorum took to answer, in seconds.
func (r *Rig) QuorumTrip(ctx context.Context) (func() (float64, error), error) {
	const nothing = "return 1"
	var shas []string
	err := r.each(func(c *redis.Client) error {
		sha, err := c.ScriptLoad(ctx, nothing).Result()
		shas = append(shas, sha)
		return err
	})
	return func() (float64, error) { return r.trip(ctx, shas[0]) }, err
}
