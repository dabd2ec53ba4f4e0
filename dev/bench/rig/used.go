package rig

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var usedCPU = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// Used returns how much processor time the servers have used so far, all together.
func (r *Rig) Used(ctx context.Context) (time.Duration, error) {
	seconds := 0.0
	err := r.each(func(c *redis.Client) error {
		info, err := c.Info(ctx, "cpu").Result()
		for _, m := range usedCPU.FindAllStringSubmatch(info, -1) {
			s, _ := strconv.ParseFloat(m[1], 64) // the server writes numbers
			seconds += s
		}
		return err
	})
	return time.Duration(seconds * float64(time.Second)), err
}
