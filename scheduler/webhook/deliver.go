package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Run posts messages until ctx ends, then tries each of those that wait once
// more, for Config.Flush at most. End ctx when the scheduler has returned.
func (s *Sink) Run(ctx context.Context) {
	for m, ok := s.next(ctx); ok; m, ok = s.next(ctx) {
		s.deliver(ctx, m)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Flush)
	defer cancel()
	for m, ok := s.pop(); ok; m, ok = s.pop() {
		s.settle(m, s.post(last, m))
	}
	s.cfg.Client.CloseIdleConnections()
}

// deliver posts m, again and again while that may help. A drain that begins
// meanwhile leaves it to the flush.
func (s *Sink) deliver(ctx context.Context, m Message) {
	for try, pause := 1, s.cfg.Backoff; ; try, pause = try+1, min(2*pause, s.cfg.MaxBackoff) {
		err := s.post(ctx, m)
		if ctx.Err() != nil && err != nil {
			s.putBack(m)
			return
		}
		if !errors.Is(err, errAgain) || try == s.cfg.Tries {
			s.settle(m, err)
			return
		}
		if !sleep(ctx, pause-rand.N(pause/2+1)) {
			s.putBack(m)
			return
		}
	}
}

func (s *Sink) putBack(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append([]Message{m}, s.queue...)
}

// settle counts a message that was taken, or lost for err.
func (s *Sink) settle(m Message, err error) {
	if err != nil {
		s.lose(m, err)
		return
	}
	s.mu.Lock()
	s.stats.Sent++
	s.mu.Unlock()
}

// errAgain is wrapped by failures that another try may mend.
var errAgain = errors.New("not taken")

// post makes one try.
func (s *Sink) post(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, hide, err := s.request(ctx, m)
	if err != nil {
		return err
	}
	resp, err := s.cfg.Client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL
		}
		return fmt.Errorf("%w: %s", errAgain, hide.Replace(err.Error()))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // lets the connection be used again
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("%w: status %d", errAgain, code)
	default:
		return fmt.Errorf("refused: status %d", code)
	}
}

// request resolves the references of URL, headers and secret, and signs. What it returns beside
// the request hides them in texts.
func (s *Sink) request(ctx context.Context, m Message) (*http.Request, *strings.Replacer, error) {
	target, err := s.cfg.Resolve(s.cfg.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: url: %w", errAgain, err) // it may be there the next time
	}
	key, err := s.cfg.Resolve(s.cfg.Secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: secret: %w", errAgain, err)
	}
	body := m.encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the url cannot be used")
	}
	password, _ := req.URL.User.Password()
	secrets := []string{target, req.URL.RequestURI(), req.URL.RawQuery, password, key}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "quorate")
	req.Header.Set("Idempotency-Key", m.ID)
	if key != "" {
		req.Header.Set(SignatureHeader, sign(key, body, time.Now()))
	}
	for name, text := range s.cfg.Headers {
		value, err := s.cfg.Resolve(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: header %s: %w", errAgain, name, err)
		}
		req.Header.Set(name, value)
		secrets = append(secrets, value)
	}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 4 { // hiding every "/" would spoil the text and protect nothing
			pairs = append(pairs, secret, "***")
		}
	}
	return req, strings.NewReplacer(pairs...), nil
}

// sleep waits and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
