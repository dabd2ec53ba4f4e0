package dashboard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/event"
)

// Times of the server of the API. Answers that go on, such as events, set their own.
const (
	webHeaders  = 10 * time.Second
	webRequest  = 30 * time.Second
	webIdle     = 2 * time.Minute
	webShutdown = 2 * time.Second
)

// maxHeaderBytes bounds the header of a request; single sign-on may send large cookies.
const maxHeaderBytes = 32 << 10

// A Server serves the API and the pages on http.listen. Hand a new one to each replica.
type Server struct {
	web        *Handler
	addr, base string
	tls        *tls.Config  // nil: plain HTTP
	listener   net.Listener // nil: listen on addr
	log        *slog.Logger

	server *http.Server
	served chan error

	users     *userBook
	following sync.WaitGroup // of users
	unfollow  context.CancelFunc
}

// Begin makes the server of a replica as its configuration says, which serves on the
// listener, if there is one, else on http.listen. The replica calls it, as all of the
// other methods.
func (s *Server) Begin(r view.Host, cfg *config.Config, listener net.Listener) error {
	s.addr, s.base, s.listener, s.log = cfg.HTTP.Listen, cfg.HTTP.BasePath, listener, r.Logger
	s.users = &userBook{cfg: cfg, log: r.Logger, failed: r.UsersFailed}
	s.users.sum = s.users.contents()
	if _, err := cfg.Users(); err != nil {
		return err
	}
	part := Config{HTTP: cfg.HTTP, Warnings: s.users.warnings}
	if t := cfg.HTTP.TLS; t.CertFile != "" {
		c := &certificate{certFile: t.CertFile, keyFile: t.KeyFile}
		if _, err := c.get(nil); err != nil {
			return fmt.Errorf("http.tls: %w", err)
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	}
	if cfg.HTTP.ProbesListen == "" {
		part.Ready, part.Metrics = r.NotReady, r.Metrics
	}
	var err error
	if s.web, err = newHandler(r, part); err != nil {
		return err
	}
	s.users.set = s.web.gate.SetUsers
	return nil
}

// Observe makes events of this replica come sooner.
func (s *Server) Observe(e event.Event) { s.web.Observe(e) }

// Start listens and serves.
func (s *Server) Start(ctx context.Context) error {
	listener := s.listener
	if listener == nil {
		var config net.ListenConfig
		var err error
		if listener, err = config.Listen(ctx, "tcp", s.addr); err != nil {
			return fmt.Errorf("http.listen: cannot listen on %s: %w; choose a free port, or 0 for any", s.addr, err)
		}
	}
	at := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: s.base + "/"}
	s.server = &http.Server{
		Handler: s.web, TLSConfig: s.tls, ReadHeaderTimeout: webHeaders, ReadTimeout: webRequest, WriteTimeout: webRequest, IdleTimeout: webIdle,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	serve := s.server.Serve
	if s.tls != nil {
		at.Scheme = "https"
		serve = func(l net.Listener) error { return s.server.ServeTLS(l, "", "") } // HTTP/2, too
	}
	s.served = make(chan error, 1)
	go func() { s.served <- serve(listener) }()
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	s.unfollow = unfollow
	s.following.Go(func() { s.users.run(following) })
	s.log.Info("serving the API", "url", at.String())
	return nil
}

// Stop ends the server and waits for it.
func (s *Server) Stop() error {
	s.web.Close()
	if s.server == nil {
		return nil
	}
	s.unfollow()
	s.following.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), webShutdown)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // a client that does not finish its request
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("serving the API: %w", err)
	}
	return nil
}

// A certificate is read again when its file has changed, so it can be renewed.
type certificate struct {
	certFile, keyFile string

	mu       sync.Mutex
	modified time.Time
	pair     *tls.Certificate
}

// get implements tls.Config.GetCertificate. If the file cannot be read any more, the old
// certificate stays.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.certFile)
	if err == nil && info.ModTime().Equal(c.modified) {
		return c.pair, nil
	}
	pair, readErr := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err = errors.Join(err, readErr); err != nil {
		if c.pair != nil {
			return c.pair, nil
		}
		return nil, err
	}
	c.pair, c.modified = &pair, info.ModTime()
	return c.pair, nil
}

// usersEvery is the pause between two looks at the files with users.
const usersEvery = 2 * time.Second

// A userBook follows http.users_file, and the files with secrets that users refer to: removed users
// are refused within seconds. A file that is unreadable or invalid changes nothing.
type userBook struct {
	cfg    *config.Config
	set    func([]gate.User)
	failed func(bool) // tells the metrics; may be nil
	log    *slog.Logger

	sum   string                    // of what was read last
	since atomic.Pointer[time.Time] // the file cannot be used; nil: it can
}

// contents is a hash of all users with their secrets, or why they cannot be read.
func (b *userBook) contents() string {
	users, err := b.cfg.Users()
	return config.TextSum(fmt.Append(nil, users, err))
}

// run follows the files until ctx ends.
func (b *userBook) run(ctx context.Context) {
	ticker := time.NewTicker(usersEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if config.Changed(ctx, b.sum, b.contents) {
				b.read()
			}
		}
	}
}

// read takes the users in, once for each change.
func (b *userBook) read() {
	b.sum = b.contents()
	users, err := b.cfg.Users()
	if err == nil {
		b.set(users)
	}
	if b.failed != nil {
		b.failed(err != nil)
	}
	if err != nil {
		b.since.CompareAndSwap(nil, new(time.Now()))
		b.log.Error("the users have not changed; fix the file and it is read again", "why", err)
		return
	}
	b.since.Store(nil)
	b.log.Info("the users were read again", "users", len(users))
}

// warnings says that the file cannot be used, without what is in it.
func (b *userBook) warnings() []string {
	since := b.since.Load()
	if since == nil {
		return nil
	}
	return []string{fmt.Sprintf("The users of http.users and http.users_file cannot be read since %s, so those of before go on; the log says why.", since.UTC().Format("15:04 MST"))}
}
