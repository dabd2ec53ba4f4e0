// Package rig holds what is measured: five Redis servers, Quorate on them, and
// its peers on the same.
package rig

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// Nodes is how many servers there are.
const Nodes = 5

// A Rig is five servers and what was opened on them.
type Rig struct {
	tb      testing.TB
	servers []*redistest.Server
	clients []*redis.Client
}

// New starts the servers. They end with the test.
func New(tb testing.TB) *Rig {
	tb.Helper()
	r := &Rig{tb: tb, servers: redistest.StartN(tb, Nodes)}
	for _, s := range r.servers {
		r.clients = append(r.clients, s.Client())
	}
	return r
}

// Addrs returns host:port of each server.
func (r *Rig) Addrs() []string {
	var list []string
	for _, s := range r.servers {
		list = append(list, s.Addr())
	}
	return list
}

// Links opens a way to each server on which replies take longer: by least, and by a
// random time below spread.
func (r *Rig) Links(least, spread time.Duration) []*Link {
	var list []*Link
	for _, s := range r.servers {
		list = append(list, newLink(r.tb, s.Addr(), least, spread))
	}
	return list
}

// Addrs returns host:port of each link.
func Addrs(links []*Link) []string {
	var list []string
	for _, l := range links {
		list = append(list, l.Addr())
	}
	return list
}

// Reset makes the servers forget everything.
func (r *Rig) Reset(ctx context.Context) error {
	return r.each(func(c *redis.Client) error { return c.FlushAll(ctx).Err() })
}

// Version returns the version of the servers.
func (r *Rig) Version(ctx context.Context) (string, error) {
	info, err := r.clients[0].InfoMap(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	return info["Server"]["redis_version"], nil
}

func (r *Rig) each(f func(c *redis.Client) error) error {
	var errs []error
	for i, c := range r.clients {
		if err := f(c); err != nil {
			errs = append(errs, fmt.Errorf("server %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}
