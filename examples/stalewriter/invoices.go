package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/httpfence"
	"github.com/quorate/quorate/locking/fence/redisfence"
	"github.com/quorate/quorate/locking/redlock/devnodes"
)

// invoices are two stores that protect themselves, each where its data is.
type invoices struct {
	embedded *devnodes.Nodes // a Redis of one's own, not one of those that vote
	redis    *redis.Client
	guard    redisfence.Guard

	service *service
	server  *http.Server
	served  chan struct{} // closed when the server has ended
	url     string
	client  *http.Client
}

// A service keeps what it was sent last.
type service struct {
	mu   sync.Mutex
	text string
}

func (s *service) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a client that went away halfway has written nothing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = string(body)
}

func openInvoices() (*invoices, error) {
	embedded, err := devnodes.Start(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // there is nothing to wait for
	if err != nil {
		embedded.Close()
		return nil, err
	}
	s := &invoices{
		embedded: embedded, service: &service{}, served: make(chan struct{}), url: "http://" + listener.Addr().String(),
		redis:  redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(embedded.URLs()[0], "redis://"), Protocol: 2, DisableIdentity: true}),
		client: &http.Client{Transport: httpfence.Transport{}},
	}
	s.guard = redisfence.Guard{Client: s.redis}
	// The service checks the token before its handler is called.
	guarded := (&httpfence.Middleware{Guard: fence.NewMemory()}).Wrap(s.service)
	s.server = &http.Server{Handler: guarded, ReadTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // ends when it is closed
	}()
	return s, nil
}

func (s *invoices) close() {
	s.client.CloseIdleConnections()
	_ = s.server.Close()
	<-s.served
	_ = s.redis.Close()
	s.embedded.Close()
}

func (s *invoices) write(ctx context.Context, b fence.Bearer, text string) error {
	return errors.Join(s.toRedis(ctx, b, text), s.toService(ctx, b, text))
}

// toRedis checks and writes in one script.
func (s *invoices) toRedis(ctx context.Context, b fence.Bearer, text string) error {
	return s.guard.Set(ctx, b, "invoices:latest", text, 0)
}

// toService sends the token along.
func (s *invoices) toService(ctx context.Context, b fence.Bearer, text string) error {
	req, err := http.NewRequestWithContext(httpfence.WithBearer(ctx, b), http.MethodPut, s.url, strings.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if stale := httpfence.StaleFrom(resp); stale != nil {
		return stale
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answered %s", resp.Status)
	}
	return nil
}

// read returns what the stores hold.
func (s *invoices) read(ctx context.Context) (redis, service string) {
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	return s.redis.Get(ctx, "invoices:latest").Val(), s.service.text
}
