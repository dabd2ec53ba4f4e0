package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/replica"
)

// firstReplica is the id of the first of the replicas; the others follow.
const firstReplica = "a"

func (a App) devCommand(f *flags) *cobra.Command {
	var replicas, count, cells int
	var verbose bool
	c := &cobra.Command{
		Use:   "dev",
		Short: "Try it without Redis: embedded nodes and several replicas in one process",
		Long: `Run the configuration's jobs on several replicas in this process, with embedded
nodes instead of the configured ones, and show who won each tick with which
token. The jobs follow the configuration file while it is edited. Being in one
process, these nodes protect against nothing and forget
everything at the end: they are for development only.`,
		Example: `  quorate dev
  quorate dev --replicas 5 --nodes 3
  quorate dev --cells 2
  quorate dev --set jobs/heartbeat/schedule="@every 1s"`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if replicas < 1 || replicas > 26 {
				return usageError{fmt.Errorf("--replicas %d: write 1 to 26", replicas)}
			}
			if !slices.Contains([]int{1, 3, 5, 7}, count) {
				return usageError{fmt.Errorf("--nodes %d: write 1, 3, 5 or 7", count)}
			}
			if cells < 1 || cells > nodes.MaxCells {
				return usageError{fmt.Errorf("--cells %d: write 1 to %d", cells, nodes.MaxCells)}
			}
			source := f.source()
			config, err := replica.Read(source, a.Registry)
			if err != nil {
				return err
			}
			return a.dev(c.Context(), source, config, devSizes{replicas, count, cells}, verbose)
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 3, "how many `replicas`")
	c.Flags().IntVar(&count, "nodes", 5, "how many `nodes`: 1, 3, 5 or 7")
	c.Flags().IntVar(&cells, "cells", 1, "how many `cells`, groups of so many nodes, each of which decides on some of the jobs")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the replicas' logs and the jobs' output, too")
	return c
}

// devSizes are how many replicas there are, and nodes in each of how many cells.
type devSizes struct{ replicas, nodes, cells int }

// dev runs the configuration's jobs on embedded nodes until ctx ends.
func (a App) dev(ctx context.Context, source replica.Source, config *replica.Config, size devSizes, verbose bool) error {
	embedded, err := devnodes.Start(size.nodes * size.cells)
	if err != nil {
		return err
	}
	defer embedded.Close()
	onEmbedded(config, embedded, size.cells)
	if err := initNodes(ctx, config); err != nil {
		return err
	}

	v := newView(a.Out, terminalWidth(a.Out), jobNames(config))
	logger := slog.New(slog.DiscardHandler)
	if verbose {
		logger = replica.NewLogger(config.Log, v)
	}
	front, err := newDevAPI(ctx, config.HTTP)
	if err != nil {
		return err
	}
	defer front.close()
	var list []*replica.Replica
	for i := range size.replicas {
		id := string(rune(firstReplica[0] + byte(i)))
		options := replica.Options{
			ReplicaID: id, Version: Version(), Logger: logger, Observer: v.observer(id), Embedded: true,
			Source: &source, Adapt: func(read *replica.Config) {
				onEmbedded(read, embedded, size.cells)
				read.HTTP = front.http
			},
		}
		if i == 0 {
			options.Listener = front.listener
		}
		own := *config
		own.HTTP = front.http
		r, err := replica.New(&own, a.Registry, options)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	v.header(fmt.Sprintf("Replicas a to %s and %s in this process: for development only.\n"+
		"Jobs: %s.\n%s\n%s", list[len(list)-1].ID(), size.text(), strings.Join(jobNames(config), ", "), front.text, hint(verbose)))
	said := context.AfterFunc(ctx, func() {
		v.say(fmt.Sprintf("Draining: no new ticks; what runs has %v. Ctrl-C again cancels it at once.", config.Scheduler.DrainTimeout))
	})
	defer said()
	showing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var shown sync.WaitGroup
	shown.Go(func() { v.run(showing, list) })
	err = a.runAll(ctx, list)
	stop()
	shown.Wait()
	return err
}

func (s devSizes) text() string {
	if s.cells == 1 {
		return fmt.Sprintf("%d embedded nodes", s.nodes)
	}
	return fmt.Sprintf("%d cells of %d embedded nodes", s.cells, s.nodes)
}

// onEmbedded makes the configuration one for embedded nodes, in so many cells:
// they take no users, and several replicas of one process cannot share a port.
func onEmbedded(config *replica.Config, embedded *devnodes.Nodes, cells int) {
	config.Redis.Nodes, config.Redis.Cells = nil, nil
	if cells > 1 {
		config.Redis.Cells = map[string]replica.CellConfig{}
	}
	urls := embedded.URLs()
	for i := range cells {
		var entries []replica.NodeEntry
		for _, url := range urls[i*len(urls)/cells : (i+1)*len(urls)/cells] {
			entries = append(entries, replica.NodeEntry{URL: url})
		}
		if cells == 1 {
			config.Redis.Nodes = entries
			break
		}
		config.Redis.Cells[fmt.Sprintf("c%d", i+1)] = replica.CellConfig{Nodes: entries}
	}
	config.Redis.Username, config.Redis.Password, config.Redis.TLS = "", "", replica.TLSConfig{}
	config.HTTP.ProbesListen = ""
}

// initNodes says what is true of nodes this process has just started: they are
// new, so nothing needs to wait for the grace.
func initNodes(ctx context.Context, config *replica.Config) error {
	list, err := config.Nodes()
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Embedded = true
	}
	sets, err := nodes.OpenCells(list)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range sets {
		errs = append(errs, s.Init(ctx, false))
	}
	for _, s := range sets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func jobNames(config *replica.Config) []string {
	var names []string
	for name := range config.Jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func hint(verbose bool) string {
	if verbose {
		return "Stop with Ctrl-C."
	}
	return "With -v you see what the jobs print, too. Stop with Ctrl-C."
}

// terminalWidth returns a function that tells how wide the terminal behind w
// is: 0 where there is none, or one that cannot move its cursor.
func terminalWidth(w io.Writer) func() int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || os.Getenv("TERM") == "dumb" {
		return func() int { return 0 }
	}
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
}
