package replica

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/webhook"
)

// A WebhookConfig is an endpoint that is told what becomes of ticks and runs.
type WebhookConfig struct {
	URL     string            `json:"url" resolve:"late" jsonschema:"where to post to; better a reference if it holds a secret: ${env:NAME} or ${file:/path}"`
	Events  []WebhookEvent    `json:"events" jsonschema:"what is told"`
	Jobs    []string          `json:"jobs,omitempty" jsonschema:"only these jobs, and those with one of the tags; default: all"`
	Tags    []string          `json:"tags,omitempty" jsonschema:"only jobs with one of these tags, and those named under jobs; default: all"`
	Headers map[string]string `json:"headers,omitempty" resolve:"late" jsonschema:"sent along; better references if they hold secrets"`
	Secret  string            `json:"secret,omitempty" resolve:"late" jsonschema:"signs each message in the header Quorate-Signature, as docs/webhooks.md says; better a reference"`
	Timeout time.Duration     `json:"timeout,omitempty" jsonschema:"what one try may take; default 5s"`
}

// A WebhookEvent is a kind of thing that a webhook tells.
type WebhookEvent string

func (WebhookEvent) choices() []string {
	var all []string
	for _, e := range webhook.Events() {
		all = append(all, string(e))
	}
	return all
}

// checkWebhooks reports mistakes in what is told to whom.
func (c *Config) checkWebhooks(ps *problems) {
	for i, hook := range c.Webhooks {
		p := path{"webhooks", strconv.Itoa(i)}
		badURL, badEvents := ps.has(p.with("url")), ps.has(p.with("events"))
		switch u, err := url.Parse(hook.URL); {
		case badURL || hasReference(hook.URL):
		case hook.URL == "":
			ps.at(p, "has no url; write one such as https://hooks.example.com/quorate")
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			ps.at(p.with("url"), "is no address that can be posted to; write one such as https://hooks.example.com/quorate")
		}
		if len(hook.Events) == 0 && !badEvents {
			ps.at(p, "has no events; write some of %s", oneOf(WebhookEvent("").choices()))
		}
		c.checkChain(ps, p.with("jobs"), hook.Jobs)
		if hook.Timeout != 0 {
			ps.positive(p.with("timeout"), hook.Timeout)
		}
	}
}

// sinks are the webhooks of a replica.
type sinks []*webhook.Sink

// A tagBook knows the tags of jobs, those of the configuration and those of
// Options.Jobs, as they were served last.
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

// noting returns the source, of whose jobs the book takes down the tags.
func (b *tagBook) noting(source scheduler.Source) scheduler.Source {
	if source == nil {
		return nil
	}
	return scheduler.SourceFunc(func(ctx context.Context) ([]scheduler.Job, error) {
		list, err := source.Jobs(ctx)
		if err == nil {
			b.sourced.Store(tagsIn(list))
		}
		return list, err
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

// sinks returns the webhooks of the configuration.
func (c *Config) sinks(id string, log *slog.Logger, tagsOf func(job string) []string) (sinks, error) {
	var all sinks
	for i, hook := range c.Webhooks {
		cfg := webhook.Config{
			Name: path{"webhooks", strconv.Itoa(i)}.String(), Namespace: c.Namespace, Replica: id,
			URL: hook.URL, Headers: hook.Headers, Secret: hook.Secret, Resolve: expand, Timeout: hook.Timeout,
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

func (s sinks) observer() scheduler.Observer {
	var list []scheduler.Observer
	for _, sink := range s {
		list = append(list, sink.Observer())
	}
	return observers(list...)
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
