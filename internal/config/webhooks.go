package config

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/console/webhook"
)

// A WebhookConfig is an endpoint that is told what becomes of ticks and runs.
type WebhookConfig struct {
	URL     string            `json:"url" resolve:"late" jsonschema:"Address that gets the messages. Better a reference if it holds a secret: ${env:NAME} or ${file:/path}."`
	Events  []WebhookEvent    `json:"events" jsonschema:"Kinds of events to send."`
	Jobs    []string          `json:"jobs,omitempty" jsonschema:"Only events of these jobs, and of jobs with one of the tags; default: all jobs."`
	Tags    []string          `json:"tags,omitempty" jsonschema:"Only events of jobs with one of these tags, and of those under jobs; default: all jobs."`
	Headers map[string]string `json:"headers,omitempty" resolve:"late" jsonschema:"Headers to send. Better references if they hold secrets."`
	Secret  string            `json:"secret,omitempty" resolve:"late" jsonschema:"Key that signs each message, in the header Quorate-Signature. Better a reference."`
	Timeout time.Duration     `json:"timeout,omitempty" jsonschema:"Limit of one try; default: 5s."`
}

// A WebhookEvent is a kind of thing that a webhook tells.
type WebhookEvent string

// Values implements choice.
func (WebhookEvent) Values() []string {
	var all []string
	for _, e := range webhook.Events() {
		all = append(all, string(e))
	}
	return all
}

// checkWebhooks reports mistakes in what is told to whom.
func (b *builder) checkWebhooks() {
	for i, hook := range b.cfg.Webhooks {
		p := path{"webhooks", strconv.Itoa(i)}
		badEvents := b.has(p.with("events"))
		if hook.URL == "" && !b.has(p.with("url")) {
			b.at(p, "has no url; write one such as https://hooks.example.com/quorate")
		}
		b.checkExpanded(p.with("url"), hook.URL, webhook.CheckURL)
		b.checkExpanded(p.with("secret"), hook.Secret, webhook.CheckSecret)
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			b.checkExpanded(p.with("headers", name), hook.Headers[name], func(value string) error { return webhook.CheckHeader(name, value) })
		}
		if len(hook.Events) == 0 && !badEvents {
			b.at(p, "has no events; write some of %s", oneOf(WebhookEvent("").Values()))
		}
		b.checkNames(p.with("jobs"), hook.Jobs)
		if hook.Timeout != 0 {
			b.positive(p.with("timeout"), hook.Timeout)
		}
	}
}

// checkExpanded checks a text with its references resolved, if they can be: Unresolved names
// the others.
func (b *builder) checkExpanded(p path, text string, check func(string) error) {
	value, err := Expand(text)
	if err != nil || text == "" || b.has(p) {
		return
	}
	if err := check(value); err != nil {
		b.at(p, "%v", err)
	}
}
