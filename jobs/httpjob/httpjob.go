package httpjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// Register registers the job "http".
func Register(r *jobs.Registry) {
	client := newClient()
	jobs.Register(r, "http", func(ctx context.Context, run jobs.Run, p Params) error {
		return do(ctx, client, run, p)
	})
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DisableKeepAlives:   true,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func do(ctx context.Context, client *http.Client, run jobs.Run, p Params) error {
	req, err := newRequest(ctx, run, p)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return requestError(ctx, req, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	run.Logger.Info("answered", slog.Int("status", resp.StatusCode))
	if err := checkStatus(ctx, req, resp, run, p.ExpectStatus); err != nil {
		return err
	}
	// Closing early could cut off a server that responds before its work is done.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return requestError(ctx, req, err)
	}
	return nil
}

func newRequest(ctx context.Context, run jobs.Run, p Params) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, p.Method, p.URL, strings.NewReader(p.Body))
	if err != nil {
		return nil, errors.New("building the request: url or method cannot be used")
	}
	for name, value := range p.Headers {
		req.Header.Set(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host // net/http sends req.Host, not the header
	}
	req.Header.Set("Quorate-Job", run.Job)
	req.Header.Set("Quorate-Tick", jobs.FormatTick(run.Tick))
	req.Header.Set("Quorate-Attempt", strconv.Itoa(run.Attempt))
	req.Header.Set(fence.HeaderToken, strconv.FormatUint(uint64(run.Token), 10))
	resource, _ := run.Fence()
	req.Header.Set(fence.HeaderResource, resource) // a job's name needs no encoding
	req.Header.Set("Idempotency-Key", run.ID)
	return req, nil
}

// requestError says why there is no response. It redacts the URL, which *url.Error
// quotes with its query.
func requestError(ctx context.Context, req *http.Request, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: ended: %w", req.Method, redact(req.URL), context.Cause(ctx))
	}
	return fmt.Errorf("%s %s: %w", req.Method, redact(req.URL), err)
}

// redact returns u without its password and query.
func redact(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := shown.String()
	if u.User != nil {
		text = strings.Replace(text, "://", "://***@", 1)
	}
	if u.RawQuery != "" {
		text += "?***"
	}
	return text
}
