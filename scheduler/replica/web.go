package replica

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/web"
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

// A webServer serves the API on http.listen.
type webServer struct {
	*web.Server
	addr, base string
	tls        *tls.Config  // nil: plain HTTP
	listener   net.Listener // nil: listen on addr

	server *http.Server
	served chan error

	users     *userBook
	following sync.WaitGroup // of users
	unfollow  context.CancelFunc
}

// newWeb returns the server of the configuration, nil if it wants none.
func newWeb(cfg *Config, r *Replica, options Options) (*webServer, error) {
	if cfg.HTTP.Listen == "" && options.Listener == nil {
		return nil, nil
	}
	s := &webServer{addr: cfg.HTTP.Listen, base: cfg.HTTP.BasePath, listener: options.Listener}
	s.users = &userBook{cfg: cfg, log: r.log, failed: r.metrics.UsersFailed}
	users, err := s.users.open()
	if err != nil {
		return nil, err
	}
	part := web.Config{
		BasePath: cfg.HTTP.BasePath, Users: users, Anonymous: web.Anonymous(cfg.HTTP.Anonymous),
		Proxy: web.Proxy{UserHeader: cfg.HTTP.TrustedProxies.UserHeader},
	}
	if role := cfg.HTTP.TrustedProxies.Role; role != "none" && part.Proxy.UserHeader != "" {
		part.Proxy.Role = web.Role(role)
	}
	for _, text := range cfg.HTTP.TrustedProxies.Addresses {
		prefix, err := prefixOf(text)
		if err != nil {
			return nil, fmt.Errorf("http.trusted_proxies.addresses: %w", err)
		}
		part.Proxy.Addresses = append(part.Proxy.Addresses, prefix)
	}
	if t := cfg.HTTP.TLS; t.CertFile != "" {
		c := &certificate{certFile: t.CertFile, keyFile: t.KeyFile}
		if _, err := c.get(nil); err != nil {
			return nil, fmt.Errorf("http.tls: %w", err)
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	}
	if cfg.HTTP.ProbesListen == "" {
		part.Probes = web.Probes{
			Ready: r.notReady, Metrics: r.metrics.Handler(), AnonymousMetrics: web.Anonymous(cfg.HTTP.AnonymousMetrics),
		}
	}
	part.Warnings = s.users.warnings
	if s.Server, err = r.Web(part); err != nil {
		return nil, err
	}
	s.users.set = s.SetUsers
	return s, nil
}

// Web returns the API of the cluster, for a service that serves it in a mux of its
// own: cfg says under which path, and who may do what. What it serves comes from the
// replica, as does a logger if it has none. Close it before the replica has ended.
func (r *Replica) Web(cfg web.Config) (*web.Server, error) {
	cfg.Control, cfg.Nodes, cfg.Settings, cfg.Replica, cfg.Version = r.cluster.Control(), r.cluster, r.shownSettings, r.id, r.version
	cfg.Control.CheckParams = func(job scheduler.JobInfo, params json.RawMessage) error {
		return cmp.Or(r.scheduler.CheckParams(job.StoredAs(), params), checkPublished(job, params))
	}
	cfg.Live = func(job string, token locking.Token) (scheduler.Log, bool) { return r.scheduler.Live(job, token) }
	if cfg.Logger == nil {
		cfg.Logger = r.log
	}
	return web.New(cfg)
}

// observer makes events of this replica come sooner.
func (s *webServer) observer() scheduler.Observer {
	if s == nil {
		return scheduler.Observer{}
	}
	return s.Observer()
}

// start listens, if there is anything to serve.
func (s *webServer) start(ctx context.Context, log *slog.Logger) error {
	if s == nil {
		return nil
	}
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
		Handler: s.Server, TLSConfig: s.tls, ReadHeaderTimeout: webHeaders, ReadTimeout: webRequest, WriteTimeout: webRequest, IdleTimeout: webIdle,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
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
	log.Info("serving the API", "url", at.String())
	return nil
}

// stop ends the server and waits for it.
func (s *webServer) stop() error {
	if s == nil {
		return nil
	}
	s.Close()
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

// A certificate is read again when its file has changed, so that it can be renewed.
type certificate struct {
	certFile, keyFile string

	mu       sync.Mutex
	modified time.Time
	pair     *tls.Certificate
}

// get is for tls.Config.GetCertificate. What cannot be read any more goes on as it
// was.
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
