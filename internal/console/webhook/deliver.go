package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/replica/settings"
)

// Run posts messages until ctx ends. Then it posts each waiting message once, for at
// most Config.Flush. End ctx after the scheduler has returned.
func (s *Sink) Run(ctx context.Context) {
	defer s.cfg.Client.CloseIdleConnections()
	var unsent []Message // the one that was tried when ctx ended, if any
	for ctx.Err() == nil {
		select {
		case m := <-s.queue:
			if !s.deliver(ctx, m) {
				unsent = append(unsent, m)
			}
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Flush)
	defer cancel()
	for _, m := range unsent {
		s.settle(m, s.post(last, m))
	}
	for {
		select {
		case m := <-s.queue:
			s.settle(m, s.post(last, m))
		default:
			return
		}
	}
}

// deliver posts m, with retries. It returns false if ctx has ended before.
func (s *Sink) deliver(ctx context.Context, m Message) bool {
	for try, pause := 1, s.cfg.Backoff; ; try, pause = try+1, min(2*pause, s.cfg.MaxBackoff) {
		err := s.post(ctx, m)
		s.noteAccepted(ctx, err)
		if ctx.Err() != nil && err != nil {
			return false
		}
		if !errors.Is(err, errRetry) || try == s.cfg.Tries {
			s.settle(m, err)
			return true
		}
		if !retry.Sleep(ctx, pause-rand.N(pause/2+1)) {
			return false
		}
	}
}

// noteAccepted logs the first of several failures, and their end. Only Run calls it.
func (s *Sink) noteAccepted(ctx context.Context, err error) {
	switch failing := errors.Is(err, errRetry); {
	case failing && !s.failing && ctx.Err() == nil:
		s.failing = true
		s.cfg.Logger.Warn("webhook does not accept messages; they are tried again", slog.String("webhook", s.cfg.Name), slog.String("error", err.Error()))
	case err == nil && s.failing:
		s.failing = false
		s.cfg.Logger.Info("webhook accepts messages again", slog.String("webhook", s.cfg.Name))
	}
}

// settle counts m as sent, or as lost if err is not nil.
func (s *Sink) settle(m Message, err error) {
	if err != nil {
		s.lose(m, err)
		return
	}
	s.sent.Add(1)
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
		return fmt.Errorf("%w: %s", errRetry, hide.Text(err.Error()))
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

// request builds and signs a request with all references resolved. The Mask hides its
// secrets in texts. No error passes with another try.
func (s *Sink) request(ctx context.Context, m Message) (*http.Request, *mask.Mask, error) {
	var secrets []string
	resolve := func(name string, text settings.Secret, check func(string) error) (string, error) {
		value, inserted, err := refs.Expand(string(text), s.cfg.Resolve)
		if secrets = append(secrets, inserted...); len(inserted) > 0 || len(refs.In(string(text))) == 0 {
			secrets = append(secrets, value)
		}
		if err == nil {
			err = check(value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return value, err
	}
	target, err := resolve("url", s.cfg.URL, CheckURL)
	if err != nil {
		return nil, nil, err
	}
	var keys [][]byte
	if s.cfg.Secret != "" {
		read := func(text string) (err error) { keys, err = keysOf(text); return err }
		if _, err = resolve("secret", s.cfg.Secret, read); err != nil {
			return nil, nil, err
		}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the url cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "quorate")
	req.Header.Set("Idempotency-Key", m.ID)
	maps.Copy(req.Header, m.carried)
	sign(req.Header, keys, m.ID, body)
	for name, text := range s.cfg.Headers {
		value, err := resolve("header "+name, text, func(value string) error { return CheckHeader(name, value) })
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set(name, value)
	}
	return req, mask.New(secrets, leastSecret), nil
}

// leastSecret is the length in bytes below which a secret is not masked in errors.
const leastSecret = 4

// CheckURL returns an error, without the text, for what is no address to post to.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("is no address that can be posted to; write one such as https://hooks.example.com/quorate")
	}
	if port, err := strconv.Atoi(u.Port()); err == nil && port > 65535 {
		return errors.New("has a port above 65535")
	}
	return nil
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110

// reservedHeaders cannot be configured: each message has its own.
var reservedHeaders = []string{"Content-Length", "Host", "Idempotency-Key", "Trailer", "Transfer-Encoding", idHeader, timestampHeader, signatureHeader}

// CheckHeader returns an error, without the value, for what is no header of a request.
func CheckHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return errors.New("is no header name; write one such as Authorization")
	case slices.Contains(reservedHeaders, http.CanonicalHeaderKey(name)):
		return errors.New("is set by Quorate for each message: remove it")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return errors.New("has a line break or another control character; a header is one line")
	}
	return nil
}
