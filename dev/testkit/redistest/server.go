package redistest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A Server is a redis-server process. Its methods fail the test when they
// cannot do what they say.
type Server struct {
	t    testing.TB
	opts options
	dir  string
	port string
	proc *process
}

// Start starts a redis-server that lives as long as the test.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	for _, o := range opts {
		o(&s.opts)
	}
	t.Cleanup(func() {
		if s.proc != nil {
			s.proc.kill()
		}
	})
	// Another process may take the port between the choice and the start.
	var err error
	for range 5 {
		s.port = servertest.FreePort(t)
		if err = s.start(); err == nil || !strings.Contains(err.Error(), "in use") {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// StartN starts n servers with the same options.
func StartN(t testing.TB, n int, opts ...Option) []*Server {
	t.Helper()
	var list []*Server
	for range n {
		list = append(list, Start(t, opts...))
	}
	return list
}

// URLs returns the servers' URLs.
func URLs(list []*Server) []string {
	var urls []string
	for _, s := range list {
		urls = append(urls, s.URL())
	}
	return urls
}

// Addr returns host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + s.port }

// Port returns the port.
func (s *Server) Port() string { return s.port }

// PID returns the id of the process.
func (s *Server) PID() int { return s.proc.cmd.Process.Pid }

// URL returns the URL with the user of ACL, if any.
func (s *Server) URL() string { return s.URLVia(s.Addr()) }

// URLVia returns the URL with another host:port, such as that of a Proxy.
func (s *Server) URLVia(addr string) string {
	scheme, user := "redis", ""
	if s.opts.ca != nil {
		scheme = "rediss"
	}
	if s.opts.username != "" {
		user = s.opts.username + ":" + s.opts.password + "@"
	}
	return scheme + "://" + user + addr
}

// Client returns a client with all permissions.
func (s *Server) Client() *redis.Client {
	opts := &redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true}
	if s.opts.ca != nil {
		opts.TLSConfig = s.opts.ca.Config()
	}
	c := redis.NewClient(opts)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Renew gives a server with TLS another certificate, which is also that of the clients that it
// trusts then, and ends the connections of others. A Sentinel is restarted for it.
func (s *Server) Renew(ca *CA) {
	s.t.Helper()
	if s.opts.sentinel {
		s.opts.ca = ca
		s.Restart(false)
		return
	}
	c := s.Client()
	cert, key := ca.Write(s.t, s.t.TempDir())
	must(s.t, c.Do(s.t.Context(), "config", "set", "tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", cert))
	must(s.t, c.Do(s.t.Context(), "client", "kill", "type", "normal", "skipme", "yes"))
	s.opts.ca = ca
}

// Kill ends the process with SIGKILL.
func (s *Server) Kill() {
	s.t.Helper()
	s.proc.kill()
}

// Freeze stops the process with SIGSTOP: it accepts connections, but nothing
// answers.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on. What it was sent meanwhile, it runs now.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("sending %v to redis-server: %v", sig, err)
	}
}

// Restart kills the process if it runs, and starts it at the same port: with
// all its data if keep is set and it was running, else blank.
func (s *Server) Restart(keep bool) {
	s.t.Helper()
	dump := filepath.Join(s.dir, "dump.rdb")
	_ = os.Remove(dump)
	if keep && s.proc.running() {
		if err := s.Client().Save(s.t.Context()).Err(); err != nil {
			s.t.Fatalf("saving the data of redis-server: %v", err)
		}
	}
	s.proc.kill()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) start() error {
	bin, err := binary()
	if err != nil {
		return err
	}
	conf := filepath.Join(s.dir, "redis.conf")
	if err := os.WriteFile(conf, []byte(s.conf()), 0o600); err != nil {
		return err
	}
	args := []string{conf}
	if s.opts.sentinel {
		args = append(args, "--sentinel")
	}
	s.proc, err = launch(context.WithoutCancel(s.t.Context()), bin, args)
	return err
}

func (s *Server) conf() string {
	lines := []string{"bind 127.0.0.1", "dir " + s.dir, "daemonize no"}
	if !s.opts.sentinel {
		lines = append(lines, `save ""`, "appendonly no")
	}
	if ca := s.opts.ca; ca != nil {
		cert, key := ca.Write(s.t, s.dir)
		lines = append(lines, "port 0", "tls-port "+s.port, "tls-cert-file "+cert,
			"tls-key-file "+key, "tls-ca-cert-file "+cert, "tls-auth-clients no", "tls-replication yes", "tls-cluster yes")
	} else {
		lines = append(lines, "port "+s.port)
	}
	return strings.Join(append(lines, s.opts.conf...), "\n") + "\n"
}
