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

	"github.com/quorate/quorate/internal/again"
)

// Run posts messages until ctx ends. Then it posts each waiting message once, for at
// most Config.Flush. End ctx after the scheduler has returned.
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

// deliver posts m, with retries. If ctx ends meanwhile, m is left to the flush.
func (s *Sink) deliver(ctx context.Context, m Message) {
	for try, pause := 1, s.cfg.Backoff; ; try, pause = try+1, min(2*pause, s.cfg.MaxBackoff) {
		err := s.post(ctx, m)
		if ctx.Err() != nil && err != nil {
			s.requeue(m)
			return
		}
		if !errors.Is(err, errRetry) || try == s.cfg.Tries {
			s.settle(m, err)
			return
		}
		if !again.After(ctx, pause-rand.N(pause/2+1)) {
			s.requeue(m)
			return
		}
	}
}

func (s *Sink) requeue(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append([]Message{m}, s.queue...)
}

// settle counts m as sent, or as lost if err is not nil.
func (s *Sink) settle(m Message, err error) {
	if err != nil {
		s.lose(m, err)
		return
	}
	s.mu.Lock()
	s.stats.Sent++
	s.mu.Unlock()
}

// errRetry is wrapped by failures that are worth a retry.
var errRetry = errors.New("not accepted")

// post posts m once.
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
		return fmt.Errorf("%w: %s", errRetry, hide.Replace(err.Error()))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so the connection can be reused
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("%w: status %d", errRetry, code)
	default:
		return fmt.Errorf("refused: status %d", code)
	}
}

// request builds and signs a request with all references resolved. The Replacer masks
// its secrets in texts.
func (s *Sink) request(ctx context.Context, m Message) (*http.Request, *strings.Replacer, error) {
	target, err := s.cfg.Resolve(s.cfg.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: url: %w", errRetry, err) // the reference may resolve later
	}
	key, err := s.cfg.Resolve(s.cfg.Secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: secret: %w", errRetry, err)
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
			return nil, nil, fmt.Errorf("%w: header %s: %w", errRetry, name, err)
		}
		req.Header.Set(name, value)
		secrets = append(secrets, value)
	}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 4 { // masking every "/" would hide nothing but spoil the text
			pairs = append(pairs, secret, "***")
		}
	}
	return req, strings.NewReplacer(pairs...), nil
}
