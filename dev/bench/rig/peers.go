package rig

import (
	"errors"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// A Redsync is a Redsync over clients of its own, all with default options.
type Redsync struct {
	*redsync.Redsync
	clients []*redis.Client
}

// NewRedsync returns a Redsync by way of the addresses.
func NewRedsync(addrs []string) *Redsync {
	r := &Redsync{}
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr})
		r.clients = append(r.clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	r.Redsync = redsync.New(pools...)
	return r
}

// Close closes the connections.
func (r *Redsync) Close() error {
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// NewRedsyncs returns n of them, as many replicas have, and what closes them.
func NewRedsyncs(n int, addrs []string) (list []*Redsync, closeAll func() error) {
	for range n {
		list = append(list, NewRedsync(addrs))
	}
	return list, func() error {
		var errs []error
		for _, r := range list {
			errs = append(errs, r.Close())
		}
		return errors.Join(errs...)
	}
}

// A Redislock is bsm/redislock on one server: it knows no quorum.
type Redislock struct {
	*redislock.Client
	client *redis.Client
}

// NewRedislock returns a Redislock on the server at addr.
func NewRedislock(addr string) *Redislock {
	c := redis.NewClient(&redis.Options{Addr: addr})
	return &Redislock{Client: redislock.New(c), client: c}
}

// Close closes the connections.
func (r *Redislock) Close() error { return r.client.Close() }
