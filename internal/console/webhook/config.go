package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// Config is the configuration of a Sink. URL and Events are required; other zero values
// mean the default.
type Config struct {
	// Name of the sink in log lines.
	Name string
	// Namespace and Replica are in every message.
	Namespace string
	Replica   string

	URL     string
	Headers map[string]string
	// Secret, if set, signs each message; see SignatureHeader. It may contain
	// references.
	Secret string
	// Resolve returns the value of a reference such as ${env:NAME}. Default: the reference.
	Resolve func(reference string) (string, error)

	Events []Event
	// Jobs and Tags, if set, limit messages to jobs with one of these names or tags.
	// TagsOf returns a job's tags.
	Jobs   []string
	Tags   []string
	TagsOf func(job string) []string

	// Timeout of one POST. Default 5 s.
	Timeout time.Duration
	// Tries is how often one message is posted at most. Default 8.
	Tries int
	// Backoff is the pause after the first try. It doubles up to MaxBackoff; random
	// jitter shortens each pause by up to half. Defaults 1 s and 1 min.
	Backoff, MaxBackoff time.Duration
	// Queue is the number of messages that may wait. A full queue drops the oldest.
	// Default 1000.
	Queue int
	// Flush is how long Run continues after its context has ended. Default 3 s.
	Flush time.Duration

	Client *http.Client // default: one that follows no redirects
	Logger *slog.Logger // default: discards
}

// WithDefaults returns a copy in which every zero value has its default.
func (c Config) WithDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Tries = cmp.Or(c.Tries, 8)
	c.Backoff = cmp.Or(c.Backoff, time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, time.Minute)
	c.Queue = cmp.Or(c.Queue, 1000)
	c.Flush = cmp.Or(c.Flush, 3*time.Second)
	if c.Resolve == nil {
		c.Resolve = func(reference string) (string, error) { return reference, nil }
	}
	if c.TagsOf == nil {
		c.TagsOf = func(string) []string { return nil }
	}
	if c.Client == nil {
		c.Client = newClient()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// newClient returns a client that follows no redirects: headers go to the configured
// server only.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Validate returns all mistakes in c, which must have its defaults.
func (c Config) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("webhook: "+format, args...))
		}
	}
	refuse(c.URL == "", "Config.URL is empty: write where to post to")
	refuse(len(c.Events) == 0, "Config.Events is empty: no event would be posted")
	for _, e := range c.Events {
		refuse(!slices.Contains(Events(), e), "Config.Events has %q: write some of %q", e, Events())
	}
	refuse(c.Timeout < 0 || c.Backoff < 0 || c.MaxBackoff < 0 || c.Flush < 0, "a duration is negative")
	refuse(c.Tries < 0 || c.Queue < 0, "Config.Tries (%d) and Queue (%d) must be positive", c.Tries, c.Queue)
	return errors.Join(errs...)
}
