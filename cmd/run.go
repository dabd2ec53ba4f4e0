package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/systemd"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/scheduler/metrics"
	"github.com/quorate/quorate/scheduler/roster"
)

func runCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run one replica until SIGTERM, then drain",
		Long: `Run one replica on the configured store until SIGTERM or SIGINT. Then the
replica drains: it takes no new ticks, and running jobs have
scheduler.drain_timeout to end. After that their contexts end. A second signal
ends them at once. Exit code 1 if a function still does not return.

The replica reads the configuration file again when it changes, or at SIGHUP. It
serves added and changed jobs from then on and drops removed ones; running jobs
continue. A file with a mistake changes nothing. One that lacks most jobs, or seems
to be cut off, counts once it has stayed the same for 15 s. Other settings need a
restart.`,
		Example: `  quorate run --config prod.yaml
  QUORATE__LOG__LEVEL=debug quorate run --set scheduler/drain_timeout=10s`,
		RunE: func(c *cobra.Command, _ []string) error {
			source := a.source()
			cfg, err := config.Read(source, a.Registry)
			if err != nil {
				return err
			}
			r, err := replica.New(replica.Config{
				File: &config.File{Config: cfg, Source: &source}, Registry: a.Registry,
				Version: Version(), Logger: config.NewLogger(cfg.Log, a.Err),
				Metrics: new(metrics.Metrics), Dashboard: new(dashboard.Server), Store: cluster.Part(cfg.Section(), a.Stores),
			})
			if err != nil {
				return err
			}
			if a.Hangup != nil {
				signal.Notify(a.Hangup, syscall.SIGHUP)
				defer signal.Stop(a.Hangup)
			}
			defer a.report(c.Context(), r)()
			return a.runAll(c.Context(), []*replica.Replica{r})
		},
	}
}

// report tells systemd how the replica is, until the function that it returns is called.
func (a *cli) report(ctx context.Context, r *replica.Replica) (end func()) {
	ended := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		a.systemd.Report(ctx, systemd.Service{
			NotReady: r.Shown().NotReady,
			Alive:    func() bool { return r.Snapshot().State != roster.StateStopped },
			Warn:     func(err error) { a.warn("%v", err) },
		}, ended)
	})
	return func() {
		close(ended)
		reporter.Wait()
	}
}

// forwardSignals passes signals to the replicas until they have ended.
func (a *cli) forwardSignals(replicas []*replica.Replica, ended <-chan struct{}) {
	hard := a.Hard
	for {
		select {
		case <-a.Hangup:
			for _, r := range replicas {
				r.Reload()
			}
		case <-hard:
			hard = nil
			for _, r := range replicas {
				r.Abort()
			}
		case <-ended:
			return
		}
	}
}

// runAll runs the replicas until ctx ends and they have drained; a.Hard cuts
// the drain short. The first replica that fails ends the others.
func (a *cli) runAll(ctx context.Context, replicas []*replica.Replica) error {
	if err := denyMemoryAccess(); err != nil {
		a.warn("%v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	var watcher, running sync.WaitGroup
	watcher.Go(func() { a.forwardSignals(replicas, ended) })
	errs := make([]error, len(replicas))
	for i, r := range replicas {
		running.Go(func() {
			if errs[i] = r.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	close(ended)
	watcher.Wait()
	return errors.Join(errs...)
}

// healthTimeout is how long the replica has to answer.
const healthTimeout = 5 * time.Second

// mostHealth bounds the answer that is read.
const mostHealth = 64 << 10

func healthCommand(a *cli) *cobra.Command {
	var ready bool
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask the replica on this machine whether it is alive",
		Long: `Ask the replica on this machine whether it is alive, for the health check of a
container. It sends one request to http.probes_listen of the configuration: to
/healthz, or with --ready to /readyz. Exit code 1 if the answer is no.`,
		Example: `  quorate health --config prod.yaml
  quorate health --ready`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Read(a.source(), a.Registry)
			if err != nil {
				return err
			}
			address, err := localAddress(cfg.HTTP.ProbesListen)
			if err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			answer, err := probe(c.Context(), "http://"+address+path)
			if err == nil {
				fmt.Fprintln(a.Out, answer)
			}
			return err
		},
	}
	c.Flags().BoolVar(&ready, "ready", false, "ask whether it takes ticks")
	return c
}

// localAddress is where a client on this machine reaches a server that listens there.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return "", failure.Usagef("http.probes_listen is %q: set it to an address with a port, such as 127.0.0.1:8081", listen)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// probe asks for a URL and returns the answer, which is an error unless its status is 200.
func probe(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("the replica does not answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostHealth))
	if err != nil {
		return "", err
	}
	answer := strings.TrimSpace(string(text))
	if response.StatusCode != http.StatusOK {
		return "", errors.New(answer)
	}
	return answer, nil
}
