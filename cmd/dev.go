package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/metrics"
)

// firstReplica is the ID of the first replica; b, c and so on follow.
const firstReplica = "a"

func devCommand(a *cli) *cobra.Command {
	var replicas, count int
	var verbose bool
	c := &cobra.Command{
		Use:   "dev",
		Short: "Try it without Redis: embedded nodes and several replicas in one process",
		Long: `Run the configuration's jobs on several replicas and embedded nodes in this
process, and show which replica won each tick with which token. Edits of the
configuration file take effect at once. These nodes share one process and lose
everything at the end: use them for development only.`,
		Example: `  quorate dev
  quorate dev --replicas 5 --nodes 3
  quorate dev --set jobs/heartbeat/schedule="@every 1s"`,
		RunE: func(c *cobra.Command, _ []string) error {
			if replicas < 1 || replicas > 26 {
				return failure.Usagef("--replicas %d: write 1 to 26", replicas)
			}
			if !slices.Contains([]int{1, 3, 5, 7}, count) {
				return failure.Usagef("--nodes %d: write 1, 3, 5 or 7", count)
			}
			source := a.source()
			source.NoStore = true
			cfg, err := config.Read(source, a.Registry)
			if err != nil {
				return err
			}
			return dev(c.Context(), a, source, cfg, replicas, count, verbose)
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 3, "how many `replicas`")
	c.Flags().IntVar(&count, "nodes", 5, "how many `nodes`: 1, 3, 5 or 7")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show the replicas' logs and the jobs' output")
	return c
}

// dev runs the configuration's jobs on embedded nodes until ctx ends.
func dev(ctx context.Context, a *cli, source config.Source, cfg *config.Config, replicas, nodes int, verbose bool) error {
	embedded, err := devnodes.Start(nodes)
	if err != nil {
		return err
	}
	defer embedded.Close()
	front, err := newDevAPI(ctx, cfg.HTTP)
	if err != nil {
		return err
	}
	defer front.close()
	adapt := func(cfg *config.Config) {
		onEmbedded(cfg, embedded)
		cfg.HTTP = front.http
	}
	adapt(cfg)
	if err := initNodes(ctx, cfg); err != nil {
		return err
	}
	v := newView(a.Out, output.Width(a.Out), jobNames(cfg))
	logger := slog.New(slog.DiscardHandler)
	if verbose {
		logger = config.NewLogger(cfg.Log, v)
	}
	var list []*replica.Replica
	for i := range replicas {
		id, own := string(rune(firstReplica[0]+byte(i))), *cfg
		options := replica.Config{
			ID: id, Version: Version(), Logger: logger, Observer: v.observer(id), Redis: replica.Redis{Embedded: true},
			Metrics: new(metrics.Metrics), Dashboard: new(dashboard.Server),
			File: &config.File{Config: &own, Registry: a.Registry, Source: &source, Adapt: adapt},
		}
		if i == 0 {
			options.Listener = front.listener
		}
		r, err := replica.New(options)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	v.header(fmt.Sprintf("Replicas a to %s and %d embedded nodes in this process: for development only.\n"+
		"Jobs: %s.\n%s\n%s", list[len(list)-1].ID(), nodes, strings.Join(jobNames(cfg), ", "), front.text, hint(verbose)))
	return runShown(ctx, a, v, list, cfg.Scheduler.DrainTimeout)
}

// runShown runs the replicas, and shows what they do until they have drained.
func runShown(ctx context.Context, a *cli, v *display, list []*replica.Replica, drain time.Duration) error {
	defer context.AfterFunc(ctx, func() {
		v.say(fmt.Sprintf("Draining: no new ticks; running jobs have %v. Ctrl-C again cancels them at once.", drain))
	})()
	showing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var shown sync.WaitGroup
	shown.Go(func() { v.run(showing, list) })
	defer shown.Wait()
	defer stop()
	return a.runAll(ctx, list)
}

// onEmbedded points the configuration, which was read without its store, at the embedded
// nodes. They are slow with many jobs but never down, so it waits for them as long as a
// lease allows. It drops the probes' port: replicas of one process cannot share it.
func onEmbedded(cfg *config.Config, embedded *devnodes.Nodes) {
	for _, url := range embedded.URLs() {
		cfg.Redis.Nodes = append(cfg.Redis.Nodes, config.NodeEntry{URL: url})
	}
	cfg.Redis.NodeTimeout = max(cfg.Redis.NodeTimeout, cfg.Lock.TTL/5)
	cfg.HTTP.ProbesListen = ""
}

// initWithin is how long embedded nodes may take to answer on a busy machine.
const initWithin = 10 * time.Second

// initNodes declares the nodes new, as this process has just started them, so no tick
// waits for the grace.
func initNodes(ctx context.Context, cfg *config.Config) error {
	cluster, err := cfg.Cluster()
	if err != nil {
		return err
	}
	cluster.Redis.Embedded = true
	set, err := membership.Open(cluster.Redis)
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, initWithin)
	defer cancel()
	err = set.Init(ctx, false)
	for err != nil && !errors.Is(err, locking.ErrRefused) && retry.After(trying, 100*time.Millisecond) {
		err = set.Init(ctx, false)
	}
	return errors.Join(err, set.Close())
}

func jobNames(cfg *config.Config) []string {
	var names []string
	for name := range cfg.Jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func hint(verbose bool) string {
	if verbose {
		return "Stop with Ctrl-C."
	}
	return "-v also shows what the jobs print. Stop with Ctrl-C."
}

// devListen is the default address of dev's API.
const devListen = "127.0.0.1:8080"

// A devAPI is the API of dev's replicas; one of them serves it.
type devAPI struct {
	listener net.Listener
	http     config.HTTPConfig // of the replicas
	text     string            // its address, and who may act
}

// newDevAPI listens on the configured address, else on devListen, else on any port.
// Requests from this machine may read without a user. If no users are configured, it
// creates one, since acts need a user.
func newDevAPI(ctx context.Context, cfg config.HTTPConfig) (*devAPI, error) {
	var listen net.ListenConfig
	addr := cfg.Listen
	if addr == "" {
		addr = devListen
	}
	listener, err := listen.Listen(ctx, "tcp", addr)
	if err != nil && cfg.Listen == "" {
		listener, err = listen.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("http.listen: cannot listen on %s: %w; choose a free port, or 0 for any", addr, err)
	}
	if cfg.Anonymous != "all" {
		cfg.Anonymous = "loopback"
	}
	cfg.AnonymousMetrics = cfg.Anonymous
	cfg.Listen, cfg.ProbesListen, cfg.TLS = "", "", config.ServerTLSConfig{}
	d := &devAPI{listener: listener, http: cfg}
	d.text = fmt.Sprintf("Dashboard: http://%[1]s%[2]s/. API: http://%[1]s%[2]s/api/v1/openapi.json describes it.", listener.Addr(), cfg.BasePath)
	d.text += fmt.Sprintf("\nhttp.anonymous is %s here: reading needs no user from %s.", cfg.Anonymous,
		map[config.AnonymousReaders]string{"loopback": "this machine", "all": "anywhere"}[cfg.Anonymous])
	if len(cfg.Users) == 0 && cfg.UsersFile == "" {
		token, stored := identity.NewToken()
		d.http.Users = map[string]config.UserConfig{"dev": {Role: "admin", Token: stored}}
		d.text += fmt.Sprintf("\nTo act, log in as user dev with this password or bearer token: %s", token)
	}
	return d, nil
}

// close closes the listener, unless the replica has.
func (d *devAPI) close() { _ = d.listener.Close() }
