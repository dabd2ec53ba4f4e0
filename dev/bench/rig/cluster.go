package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/stores/postgres"
)

// joinTimeout bounds how long replicas take to serve what they are told to.
const joinTimeout = 60 * time.Second

// A Cluster is replicas in this process, each wired as the binary wires one and
// with connections of its own, that serve the same jobs.
type Cluster struct {
	members []*member
	list    atomic.Pointer[served]
	stop    context.CancelFunc
	running sync.WaitGroup
	errs    chan error
	lost    atomic.Int64 // leases
}

// A served is jobs, and how many were served before them.
type served struct {
	version int64
	jobs    []jobs.Job
}

// A member is a replica and which jobs it has taken in.
type member struct {
	replica      *replica.Replica
	asked, taken atomic.Int64
	failed       atomic.Pointer[error] // why it does not take in its jobs
}

func (m *member) fail(err error) {
	if err != nil {
		m.failed.Store(&err)
	}
}

// Cluster starts n replicas by way of the addresses. They have no jobs.
func (r *Rig) Cluster(ctx context.Context, n int, addrs []string) (*Cluster, error) {
	if err := r.Reset(ctx); err != nil {
		return nil, err
	}
	if err := r.Init(ctx); err != nil {
		return nil, err
	}
	return startCluster(ctx, n, func() (replica.Config, error) {
		cfg := config.Default()
		cfg.Namespace = Namespace
		for _, n := range nodeConfigs(addrs) {
			cfg.Redis.Nodes = append(cfg.Redis.Nodes, settings.Node{Name: n.Name, URL: settings.Secret(n.URL)})
		}
		return replica.Config{File: &config.File{Config: cfg}}, nil
	})
}

// Replicas starts n replicas on the server. They have no jobs.
func (p *Postgres) Replicas(ctx context.Context, n int) (*Cluster, error) {
	return startCluster(ctx, n, func() (replica.Config, error) {
		pool, err := p.Pool(ctx, nil)
		return replica.Config{Namespace: Namespace, Store: &postgres.Store{Pool: pool}}, err
	})
}

// startCluster starts n replicas on a store.
func startCluster(ctx context.Context, n int, on func() (replica.Config, error)) (*Cluster, error) {
	c := &Cluster{errs: make(chan error, n)}
	c.list.Store(&served{})
	for i := range n {
		m, err := c.member(fmt.Sprintf("replica-%02d", i+1), on)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
	}
	var running context.Context
	running, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, m := range c.members {
		c.running.Go(func() { c.errs <- m.replica.Run(running) })
	}
	return c, nil
}

func (c *Cluster) member(id string, on func() (replica.Config, error)) (*member, error) {
	m := &member{}
	cfg, err := on()
	if err != nil {
		return nil, err
	}
	cfg.Replica, cfg.Logger = settings.Replica{ID: id}, slog.New(slog.DiscardHandler)
	cfg.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) {
		list := c.list.Load()
		m.asked.Store(list.version)
		return list.jobs, nil
	})
	cfg.Observer = func(e event.Event) {
		switch e.Kind {
		case event.Updated:
			m.taken.Store(m.asked.Load())
		case event.UpdateFailed:
			m.fail(e.Err)
		case event.LeaseLost:
			c.lost.Add(1)
		}
	}
	m.replica, err = replica.New(cfg)
	return m, err
}

// Lost is how many leases were lost so far.
func (c *Cluster) Lost() int64 { return c.lost.Load() }

// Serve gives the replicas jobs that differ from those of before, and waits
// until all have taken them in.
func (c *Cluster) Serve(ctx context.Context, list []jobs.Job) error {
	version := c.list.Load().version + 1
	c.list.Store(&served{version, list})
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	for _, m := range c.members {
		m.replica.Refresh()
	}
	for _, m := range c.members {
		for m.taken.Load() < version {
			if err := m.failed.Load(); err != nil {
				return *err
			}
			if err := c.pause(ctx, 5*time.Millisecond); err != nil {
				return fmt.Errorf("%s has not taken in its jobs: %w", m.replica.ID(), err)
			}
		}
	}
	return nil
}

// pause waits, but not for a replica that has ended.
func (c *Cluster) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case err := <-c.errs:
		return fmt.Errorf("a replica ended early: %w", err)
	}
}

// Close drains the replicas, and returns what went wrong.
func (c *Cluster) Close() error {
	c.stop()
	c.running.Wait()
	close(c.errs)
	var all []error
	for err := range c.errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}
