package replica

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/scheduler"
)

// sinks are the webhooks of a replica.
type sinks []*webhook.Sink

// A tagBook knows the tags of jobs, those of the configuration and those of
// Config.Source, as they were served last.
type tagBook struct {
	own, sourced atomic.Pointer[map[string][]string]
}

func tagsIn(list []scheduler.Job) *map[string][]string {
	tags := make(map[string][]string, len(list))
	for _, job := range list {
		tags[job.Name] = job.Tags
	}
	return &tags
}

// completed returns the source with the defaults of the configuration in its jobs, whose tags the
// replica notes.
func (r *Replica) completed(source scheduler.Source) scheduler.Source {
	if source == nil {
		return nil
	}
	return scheduler.SourceFunc(func(ctx context.Context) ([]scheduler.Job, error) {
		list, err := source.Jobs(ctx)
		if err != nil {
			return nil, err
		}
		settings := r.settingsShown.Load()
		whole := make([]scheduler.Job, len(list))
		for i, job := range list {
			whole[i] = settings.Complete(job)
		}
		r.tags.sourced.Store(tagsIn(whole))
		return whole, nil
	})
}

func (b *tagBook) tagsOf(job string) []string {
	for _, part := range []*atomic.Pointer[map[string][]string]{&b.own, &b.sourced} {
		if tags := part.Load(); tags != nil {
			if of, ok := (*tags)[job]; ok {
				return of
			}
		}
	}
	return nil
}

// newSinks returns the webhooks of the configuration.
func newSinks(c *config.Config, id string, log *slog.Logger, tagsOf func(job string) []string) (sinks, error) {
	var all sinks
	for i, hook := range c.Webhooks {
		cfg := webhook.Config{
			Name: fmt.Sprintf("webhooks[%d]", i), Namespace: c.Namespace, Replica: id,
			URL: hook.URL, Headers: hook.Headers, Secret: hook.Secret, Resolve: config.Expand, Timeout: hook.Timeout,
			Jobs: hook.Jobs, Tags: hook.Tags, TagsOf: tagsOf, Logger: log,
		}
		for _, e := range hook.Events {
			cfg.Events = append(cfg.Events, webhook.Event(e))
		}
		sink, err := webhook.New(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, sink)
	}
	return all, nil
}

func (s sinks) observe(e scheduler.Event) {
	for _, sink := range s {
		sink.Observe(e)
	}
}

// start lets the webhooks post until the returned function is called, which
// waits for their flush.
func (s sinks) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var posting sync.WaitGroup
	for _, sink := range s {
		posting.Go(func() { sink.Run(ctx) })
	}
	return func() {
		cancel()
		posting.Wait()
	}
}
