package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/metrics"
	"github.com/quorate/quorate/scheduler/roster"
)

// firstReplica is the ID of the first replica; b, c and so on follow.
const firstReplica = "a"

func devCommand(a *cli) *cobra.Command {
	var replicas, count int
	var verbose bool
	var keep string
	c := &cobra.Command{
		Use:   "dev",
		Short: "Try it without Redis: embedded nodes and several replicas in one process",
		Long: `Run the configuration's jobs on several replicas and embedded nodes in this
process, and show which replica won each tick with which token. Edits of the
configuration file take effect at once. These nodes share one process and lose
everything at the end: use them for development only. With --keep everything is in a
SQLite file instead, so the next start knows the history.`,
		Example: `  quorate dev
  quorate-sqlite dev --keep trial.db
  quorate dev --replicas 5 --nodes 3
  quorate dev --set jobs/heartbeat/schedule="@every 1s"`,
		RunE: func(c *cobra.Command, _ []string) error {
			if replicas < 1 || replicas > 26 {
				return failure.Usagef("--replicas %d: write 1 to 26", replicas)
			}
			if !slices.Contains([]int{1, 3, 5, 7}, count) {
				return failure.Usagef("--nodes %d: write 1, 3, 5 or 7", count)
			}
			if keep != "" && c.Flags().Changed("nodes") {
				return failure.Usagef("--keep takes the place of the nodes: remove --nodes")
			}
			cfg, err := config.Read(a.noStore(), a.Registry)
			if err != nil {
				return err
			}
			s, err := a.devStore(keep, count)
			if err != nil {
				return err
			}
			defer s.close()
			return dev(c.Context(), a, cfg, s, replicas, verbose)
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 3, "how many `replicas`")
	c.Flags().IntVar(&count, "nodes", 5, "how many `nodes`: 1, 3, 5 or 7")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show the replicas' logs and the jobs' output")
	c.Flags().StringVar(&keep, "keep", "", "keep everything in this SQLite `file`, in place of embedded nodes")
	return c
}

// dev runs the configuration's jobs on a store until ctx ends.
func dev(ctx context.Context, a *cli, cfg *config.Config, s devStore, replicas int, verbose bool) error {
	front, err := newDevAPI(ctx, cfg.HTTP)
	if err != nil {
		return err
	}
	defer front.close()
	source := a.noStore()
	adapt := func(cfg *config.Config) {
		s.adapt(cfg)
		front.apply(cfg)
	}
	adapt(cfg)
	if err := s.init(ctx, cfg); err != nil {
		return err
	}
	v := newDisplay(a.Out, func() int { return output.Width(a.Out) }, jobNames(cfg))
	logger, hint := slog.New(slog.DiscardHandler), "-v also shows what the jobs print. Stop with Ctrl-C."
	if verbose {
		logger, hint = config.NewLogger(cfg.Log, v), "Stop with Ctrl-C."
	}
	var list []*replica.Replica
	for i := range replicas {
		id, own := string(rune(firstReplica[0]+byte(i))), *cfg
		options := replica.Config{
			Replica: settings.Replica{ID: id}, Version: Version(), Logger: logger, Observer: v.observer(id), Embedded: true,
			Metrics: new(metrics.Metrics), Dashboard: new(dashboard.Server), Store: s.server,
			File: &config.File{Config: &own, Source: &source, Adapt: adapt}, Registry: a.Registry,
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
	v.header(fmt.Sprintf("Replicas a to %s and %s: for development only.\n"+
		"Jobs: %s.\n%s\n%s", list[len(list)-1].ID(), s.text, strings.Join(jobNames(cfg), ", "), front.text, hint))
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

func jobNames(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Jobs)) }

// devListen is the default address of dev's API.
const devListen = "127.0.0.1:8080"

// A devAPI is the API of dev's replicas; one of them serves it.
type devAPI struct {
	listener net.Listener
	http     settings.HTTP // of the replicas
	set      []string      // keys of http that have another value than in the file
	text     string        // its address, and who may act
}

// newDevAPI listens on the configured address, else on devListen, else on any port.
// Requests from this machine may read without a user. If no users are configured, it
// creates one, since commands need a user.
func newDevAPI(ctx context.Context, cfg settings.HTTP) (*devAPI, error) {
	var listen net.ListenConfig
	addr := cmp.Or(cfg.Listen, devListen)
	listener, err := listen.Listen(ctx, "tcp", addr)
	if err != nil && cfg.Listen == "" {
		listener, err = listen.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("http.listen: cannot listen on %s: %w; choose a free port, or 0 for any", addr, err)
	}
	set := []string{"anonymous_metrics"}
	if cfg.Anonymous != "all" {
		cfg.Anonymous, set = "loopback", append(set, "anonymous")
	}
	cfg.AnonymousMetrics = cfg.Anonymous
	cfg.Listen, cfg.ProbesListen, cfg.TLS = "", "", settings.HTTP{}.TLS
	d := &devAPI{listener: listener, http: cfg, set: set}
	d.text = fmt.Sprintf("Dashboard: http://%[1]s%[2]s/. API: http://%[1]s%[2]s/api/v1/openapi.json describes it.", listener.Addr(), cfg.BasePath)
	d.text += fmt.Sprintf("\nhttp.anonymous is %s here: reading needs no user from %s.", cfg.Anonymous,
		map[identity.Anonymous]string{"loopback": "this machine", "all": "anywhere"}[cfg.Anonymous])
	if len(cfg.Users) == 0 && cfg.UsersFile == "" {
		token, stored := gate.NewToken()
		d.http.Users, d.set = map[string]settings.User{"dev": {Role: "admin", Token: settings.Secret(stored)}}, append(d.set, "users")
		d.text += fmt.Sprintf("\nTo act, log in as user dev with this password or bearer token: %s", token)
	}
	return d, nil
}

// apply puts the settings of the API into a configuration that was read.
func (d *devAPI) apply(cfg *config.Config) {
	cfg.HTTP = d.http
	for _, key := range d.set {
		cfg.Program("http", key)
	}
}

// close closes the listener, unless the replica has.
func (d *devAPI) close() { _ = d.listener.Close() }

// A display shows the replicas of dev: a line per tick and, on a terminal, a status line.
// Observers only queue; one goroutine writes, so a slow terminal does not delay a
// replica.
type display struct {
	out   io.Writer
	width func() int // of the terminal, 0 if it is none
	color bool
	job   int // width of the column of jobs

	mu      sync.Mutex
	queue   strings.Builder          // lines to be written
	claimed map[string]time.Duration // by run ID: how long the claim took
	decided map[string]time.Time     // by job: the last tick shown that did not run
}

// newDisplay returns a display of the named jobs. Width is that of the terminal behind out, 0
// if there is none.
func newDisplay(out io.Writer, width func() int, jobs []string) *display {
	v := &display{
		out: out, width: width, color: width() > 0 && os.Getenv("NO_COLOR") == "", job: len("JOB"),
		claimed: map[string]time.Duration{}, decided: map[string]time.Time{},
	}
	for _, name := range jobs {
		v.job = max(v.job, len(name))
	}
	if width() > 0 {
		v.job = min(v.job, maxJobColumn)
	}
	return v
}

// maxJobColumn bounds the job column of a terminal. With job names of up to 15 characters, a line
// without a reason fits 80 columns.
const maxJobColumn = 20

// row formats one tick. The outcome with its reason is last, so only it wraps.
func (v *display) row(tick, job, by, token, votes, claim, run, outcome string) string {
	if v.width() > 0 {
		job = output.Clip(job, v.job)
	}
	return fmt.Sprintf("%-8s  %-*s  %-2s  %-16s  %-5s %5s %5s  %s",
		tick, v.job, job, by, token, votes, claim, run, outcome)
}

func (v *display) header(text string) {
	fmt.Fprintln(v.out, text)
	fmt.Fprintln(v.out)
	fmt.Fprintln(v.out, v.row("TICK UTC", "JOB", "BY", "TOKEN", "VOTES", "CLAIM", "RUN", "OUTCOME"))
}

// observer shows the events of the named replica.
func (v *display) observer(name string) event.Observer {
	return func(e event.Event) {
		switch e.Kind {
		case event.Claimed:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.claimed[e.Run] = e.Took
		case event.Finished:
			v.finished(e)
		case event.Decided:
			if e.Entry.Outcome != ledger.Missed { // another replica may run it
				v.notRun(e.Entry)
			}
		case event.Settled:
			if e.Err == nil { // else another one may have run it
				v.notRun(e.Entry)
			}
		case event.Overdue:
			v.say(fmt.Sprintf("%s: %s of tick %s ignores the end of its context", name, e.Entry.Job, clock(e.Entry.OrderKey())))
		case event.Updated:
			v.once(name, "reloaded: "+e.Diff.String())
		case event.UpdateFailed:
			v.updateFailed(name, e.Err)
		case event.ClockJumped:
			v.say(fmt.Sprintf("%s: the clock jumped by %v", name, e.By.Round(time.Millisecond)))
		}
	}
}

func (v *display) finished(ended event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, claim := ended.Entry, v.claimed[ended.Run]
	delete(v.claimed, ended.Run)
	outcome := v.paint(e.Outcome)
	if why := view.Why(e.Reason.String(), e.Error); why != "" {
		outcome += ": " + v.clip(why)
	}
	v.queue.WriteString(v.row(clock(e.Tick), e.Job, e.Replica, fmt.Sprint(e.Token),
		view.Votes(e), output.Short(claim), output.Short(e.Finished.Sub(e.Started)), outcome) + "\n")
}

// notRun shows a tick that did not run once, although every replica reports it.
func (v *display) notRun(e ledger.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !e.Tick.After(v.decided[e.Job]) {
		return
	}
	v.decided[e.Job] = e.Tick
	v.queue.WriteString(v.row(clock(e.Tick), e.Job, "-", "-", "-", "-", "-",
		v.paint(e.Outcome)+": "+v.clip(e.Reason.String())) + "\n")
}

// clip puts a text on one line, which is short on a terminal.
func (v *display) clip(text string) string {
	if v.width() == 0 {
		return output.Line(text)
	}
	return output.Clip(text, 120)
}

func (v *display) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue.WriteString(text + "\n")
}

// Write queues log lines.
func (v *display) Write(p []byte) (int, error) {
	v.say(string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// run writes until ctx ends, then writes the rest.
func (v *display) run(ctx context.Context, replicas []*replica.Replica) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			v.flush("")
			return
		case <-tick.C:
			status := ""
			if width := v.width(); width > 0 {
				status = output.Clip(statusLine(replicas, time.Now()), width-1) // the last column is the cursor's
			}
			v.flush(status)
		}
	}
}

// flush writes the queued lines, and on a terminal the status below them.
func (v *display) flush(status string) {
	v.mu.Lock()
	text := v.queue.String()
	v.queue.Reset()
	v.mu.Unlock()
	if v.width() > 0 {
		text = "\r\x1b[K" + text // over the old status
	}
	if text += status; text != "" {
		_, _ = io.WriteString(v.out, text)
	}
}

// statusLine shows what is running and what is next.
func statusLine(replicas []*replica.Replica, now time.Time) string {
	var running []string
	var next scheduler.NextTick
	draining := false
	for _, r := range replicas {
		s := r.Snapshot()
		draining = draining || s.State == roster.StateDraining
		for _, run := range s.Running {
			running = append(running, fmt.Sprintf("%s on %s (%v)", run.Job, r.ID(), now.Sub(run.Started).Round(time.Second)))
		}
		if len(s.Next) > 0 && (next.Tick.IsZero() || s.Next[0].Tick.Before(next.Tick)) {
			next = s.Next[0]
		}
	}
	var parts []string
	if draining {
		parts = append(parts, "draining, Ctrl-C again cancels")
	}
	if len(running) > 0 {
		parts = append(parts, "running: "+strings.Join(running, ", "))
	}
	if !next.Tick.IsZero() {
		parts = append(parts, fmt.Sprintf("next: %s in %v", next.Job, max(next.Tick.Sub(now), 0).Round(time.Second)))
	}
	return strings.Join(parts, " · ")
}

// paint colours an outcome on a terminal.
func (v *display) paint(o ledger.Outcome) string {
	if !v.color {
		return string(o)
	}
	return output.Paint(string(o), o)
}

// clock is a tick's time of day, with milliseconds only if there are any.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.999") }

// updateFailed shows the mistakes in an edited configuration.
func (v *display) updateFailed(replica string, err error) {
	if err == nil {
		v.once(replica, "the configuration is valid again")
		return
	}
	for _, line := range failure.Lines(err) {
		v.once(replica, "not reloaded: "+line)
	}
}

// once shows an event of all replicas when the first of them reports it.
func (v *display) once(replica, text string) {
	if replica == firstReplica {
		v.say(text)
	}
}
