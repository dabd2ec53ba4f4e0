package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/cmd/internal/top"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/roster"
)

// withCluster calls fn with the server that the flags name, else with the store.
func (a *cli) withCluster(ctx context.Context, fn func(cluster.Cluster) error) error {
	if a.server == "" {
		return a.withStore(ctx, func(s *cluster.Store) error { return fn(s.Service()) })
	}
	s, err := cluster.NewServer(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	return fn(s)
}

// withStore calls fn with the store, for what the API cannot do.
func (a *cli) withStore(ctx context.Context, fn func(*cluster.Store) error) error {
	if err := a.noServer(); err != nil {
		return err
	}
	s, err := cluster.Open(ctx, a.source(), a.Registry, a.Stores)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// noServer refuses --server for what the API cannot do.
func (a *cli) noServer() error {
	if a.server == "" {
		return nil
	}
	return failure.Usagef("the API cannot do this: leave out --server, and name the store with --config")
}

// onCluster returns the RunE of a command that works on a cluster.
func (a *cli) onCluster(do func(context.Context, cluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return a.withCluster(c.Context(), func(cl cluster.Cluster) error { return do(c.Context(), cl, args) })
	}
}

// listRows returns the RunE of a command that prints one listing.
func listRows[R any](a *cli, read func(cluster.Cluster, context.Context) ([]R, error), table func([]R) output.Table[R]) func(*cobra.Command, []string) error {
	return a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
		rows, err := read(cl, ctx)
		return printRows(a, table, rows, err)
	})
}

// printRows prints the rows that were read.
func printRows[R any](a *cli, table func([]R) output.Table[R], rows []R, err error) error {
	if err != nil {
		return err
	}
	return table(rows).Print(a.Out, a.format)
}

// asOfNow builds a table that shows ages.
func asOfNow[R any](table func([]R, time.Time) output.Table[R]) func([]R) output.Table[R] {
	return func(rows []R) output.Table[R] { return table(rows, time.Now()) }
}

func jobsCommand(a *cli) *cobra.Command {
	c := listing(a, &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs that the replicas serve, each with its last tick",
		Long: `List the jobs that the replicas serve, as they published them in the store, each
with its last tick. A job that was removed from the configuration stays listed;
SERVED says for how long replicas have served this version, or until when.

VERSION distinguishes versions of a job. While replicas serve different versions, as
during a rollout, a job has a row for each, marked with an asterisk. NEXT is "paused"
if ticks are skipped; -o json has the author and the reason. NEXT is "not served" if
no live replica has the job, which can appear some minutes after its removal.`,
		Example: `  quorate jobs
  quorate jobs forget old-report      # it was removed permanently`,
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			rows, err := cluster.Collect(0, func(after string) (view.Page[view.Job], error) {
				p, err := cl.Jobs(ctx, view.JobQuery{After: after})
				if err != nil && p.Items != nil {
					p.Unknown, err = view.Optional("pauses are unknown: "+err.Error()), nil
				}
				a.warnOf(view.Text(p.Unknown))
				return p, err
			})
			return printRows(a, asOfNow(jobListing), rows, err)
		}),
	})
	c.AddCommand(jobsForgetCommand(a))
	return c
}

func jobListing(rows []view.Job, now time.Time) output.Table[view.Job] {
	// During a rollout the version matters more than the schedule.
	drop := []string{"VERSION", "SERVED", "LAST TICK"}
	if slices.ContainsFunc(rows, func(r view.Job) bool { return r.Drift }) {
		drop = []string{"SERVED", "LAST TICK", "SCHEDULE"}
	}
	return output.Table[view.Job]{
		Columns: []string{"JOB", "SCHEDULE", "NEXT", "LAST TICK", "OUTCOME", "SERVED", "VERSION"},
		Cells: func(r view.Job) []string {
			return []string{
				r.Job, output.Dash(r.Schedule) + " " + output.Dash(r.Timezone), nextCell(r, now),
				output.Ago(r.LastTick, now), view.Join(", ", output.Dash(r.LastOutcome), r.Trouble()), servedCell(r, now), versionCell(r),
			}
		},
		Rows:  rows,
		Empty: "no replica has served a job on this store yet",
		Drop:  drop,
		Cut:   []string{"SCHEDULE", "JOB"},
	}
}

// nextCell shows the next tick, or why none will run.
func nextCell(r view.Job, now time.Time) string {
	next := "-"
	if r.Next != nil {
		next = "in " + output.Since(now, view.Time(r.Next))
	}
	switch {
	case !r.Live:
		return "not served"
	case r.Paused != nil:
		return "paused, next " + next
	}
	return next
}

func versionCell(r view.Job) string {
	if r.Drift {
		return output.Dash(r.Hash) + " *"
	}
	return output.Dash(r.Hash)
}

// servedCell says for how long the version has been served, or until when it was.
func servedCell(r view.Job, now time.Time) string {
	switch {
	case r.Live && r.Since != nil:
		return "for " + output.Since(view.Time(r.Since), now)
	case !r.Live && r.Published != nil:
		return "until " + output.Ago(r.Published, now)
	}
	return "-"
}

func jobsForgetCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "forget JOB",
		Short: "Delete the store's data about a removed job",
		Long: `Delete the store's data about a job, or a plain lock, that was removed permanently:
its claim, its ledger, and its row in quorate jobs.

The command is refused while the job's lock is held, and while a live replica serves
the job. First remove the job from the configuration of all replicas. Then wait ten
minutes after they have reloaded it, or restart them.

Replicas do this by themselves for jobs that were not served for
scheduler.forget_after (30 days). The command does it earlier, and also forgets plain
locks and jobs that were never published. A pause of the job stays until
quorate resume ends it.

If the name comes back, nothing runs twice: each node remembers the largest token and
the latest tick of everything it has forgotten. Tokens keep growing. Ticks up to then
stay closed, also for a job that never ran.

Of Redis nodes a quorum suffices. Repeat the command when the others are back, to free
their memory too. Exit code 3 if the store has no data about the job, 4 if it does not
answer.`,
		Example: `  quorate jobs forget old-report`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), func(s *cluster.Store) error {
				if err := s.ForgetJob(c.Context(), args[0], time.Now()); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s: claim and ledger are deleted; its ticks stay closed and its tokens used\n", args[0])
				return nil
			})
		},
	}
}

func replicasCommand(a *cli) *cobra.Command {
	var left bool
	c := listing(a, &cobra.Command{
		Use:   "replicas",
		Short: "List the replicas that were seen lately, and the lost ones",
		Example: `  quorate replicas
  quorate replicas --left             # those that left in the last day`,
		RunE: func(c *cobra.Command, args []string) error {
			if left {
				return listRows(a, cluster.Cluster.Left, asOfNow(leftListing))(c, args)
			}
			return listRows(a, cluster.Cluster.Replicas, asOfNow(replicaListing))(c, args)
		},
	})
	c.Flags().BoolVar(&left, "left", false, "list those that left in the last 24 hours instead, the latest 100")
	return c
}

func replicaListing(rows []view.Replica, now time.Time) output.Table[view.Replica] {
	return output.Table[view.Replica]{
		Columns: []string{"REPLICA", "STATE", "HOST", "UP", "SEEN", "VERSION", "CONFIG", "LABELS", "RUNNING"},
		Cells: func(r view.Replica) []string {
			return []string{
				r.ID, stateCell(r), r.Host + ":" + strconv.Itoa(r.PID), output.Since(view.Time(r.Started), now),
				output.Ago(r.Seen, now), r.Version, output.Dash(r.ConfigHash), labels(r.Labels),
				cmp.Or(strings.Join(r.Running, " "), "-"),
			}
		},
		Rows:  rows,
		Empty: "no replica was seen lately",
		Drop:  []string{"LABELS", "HOST", "VERSION", "CONFIG"},
		Cut:   []string{"RUNNING", "REPLICA"},
	}
}

// leftListing shows when replicas left, and how long they were up.
func leftListing(rows []view.Replica, now time.Time) output.Table[view.Replica] {
	return output.Table[view.Replica]{
		Columns: []string{"REPLICA", "LEFT", "HOST", "UP", "VERSION"},
		Cells: func(r view.Replica) []string {
			started, left := view.Time(r.Started), view.Time(r.Seen)
			return []string{r.ID, output.Ago(r.Seen, now), r.Host + ":" + strconv.Itoa(r.PID), output.Since(started, left), r.Version}
		},
		Rows:  rows,
		Empty: "no replica left in the last 24 hours",
		Drop:  []string{"HOST", "VERSION"},
		Cut:   []string{"REPLICA"},
	}
}

// stateCell shows the state, the offset of a skewed clock, and what is wrong beside others.
func stateCell(r view.Replica) string {
	text := r.State
	if r.State == roster.StateSkewed {
		text += ", " + r.Clock()
	}
	if r.Shared {
		text += ", id in use twice"
	}
	if len(r.Strangers) > 0 {
		text += ", other jobs named " + view.And(r.Strangers)
	}
	return text
}

// labels shows labels sorted by key, "-" for none.
func labels(of map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, key+"="+of[key])
	}
	return cmp.Or(strings.Join(words, " "), "-")
}

func locksCommand(a *cli) *cobra.Command {
	c := listing(a, &cobra.Command{
		Use:   "locks",
		Short: "List the held locks, and runs that never reported their end",
		Long: `List the held locks, of jobs and plain ones, and runs that never reported their end.
The command reads the store, so no replica needs to answer. A job whose runs may
overlap (overlap: allow) has a row for each run.

STATE is one of
  held        the store, or a quorum of its nodes, holds the lock, for LEFT unless
              the holder extends it
  unknown     held, but no node has a claim of the holder: it has not claimed yet,
              or is another Redlock client that uses this key
  partial     fewer nodes than a quorum hold the lock; it ends by itself
  unfinished  the lock has expired, and the run never reported its end: its replica
              died, is paused, or cannot reach the store

Exit code 4 if the store does not answer.`,
		Example: `  quorate locks
  quorate locks -o json | jq '.[] | select(.state == "unfinished")'
  quorate locks release nightly-report --reason "hangs since the deploy"`,
		RunE: listRows(a, cluster.Cluster.Locks, asOfNow(lockListing)),
	})
	c.AddCommand(locksReleaseCommand(a))
	return c
}

func lockListing(rows []view.Lock, now time.Time) output.Table[view.Lock] {
	return output.Table[view.Lock]{
		Columns: []string{"JOB", "HOLDER", "TICK", "TOKEN", "AGE", "LEFT", "NODES", "STATE"},
		Cells: func(r view.Lock) []string {
			return []string{
				r.Job, output.Dash(r.Holder), output.Dash(r.Tick), output.Dash(r.Token), output.Since(view.Time(r.Since), now),
				timeLeft(r.LeftMillis), ofSeveral(r.Nodes), r.State,
			}
		},
		Rows:   rows,
		Empty:  "no lock is held",
		Sparse: []string{"NODES"},
		Drop:   []string{"TICK", "TOKEN", "NODES"},
		Cut:    []string{"JOB", "HOLDER"},
	}
}

// ofSeveral is how many of the nodes have agreed, "-" if there is only one, or one store.
func ofSeveral(agreed string) string {
	if strings.HasSuffix(agreed, "/1") {
		return "-"
	}
	return agreed
}

func timeLeft(ms *int64) string {
	switch {
	case ms == nil:
		return "endless"
	case *ms == 0:
		return "-"
	}
	return output.Short(time.Duration(*ms) * time.Millisecond)
}

func locksReleaseCommand(a *cli) *cobra.Command {
	release := commands.Command{Kind: commands.Release}
	var token uint64
	c := &cobra.Command{
		Use:   "release JOB",
		Short: "Take a lock from its holder by force",
		Long: `Take the lock of a job, or a plain lock, from its holder. Use it if a run hangs and
the next tick must not wait, or if an abandoned lock does not expire.

The run learns of it at its next extension (every lock.extend_every, by default a
third of lock.ttl). Then its context ends, and the ledger records it as lease_lost
with your reason. Its tick does not run again, unless on_crash is rerun, and its token
stays used.

If several runs of the job overlap (overlap: allow), --token selects one; quorate
locks lists the tokens.

Another run may start before this one has stopped. Sinks that check the token refuse
its late writes. Without such a sink, stop the holder first.

Exit code 3 if the lock is not held, 4 if the store does not answer.`,
		Example: `  quorate locks release nightly-report --reason "hangs since the deploy"
  quorate locks release imports --token 1883434212261889 --reason "stuck"`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return checkReason(release.Reason) },
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			release.Job = args[0]
			taken, err := cl.Release(ctx, signed(release), locking.Token(token))
			switch {
			case errors.Is(err, locking.ErrSeveral):
				return failure.Usagef("%w, with --token", err)
			case err != nil && taken.Job == "":
				return err
			case err != nil:
				defer a.warn("the audit log could not record it: %v", err)
			}
			fmt.Fprint(a.Out, released(taken))
			return nil
		}),
	}
	c.Flags().Uint64Var(&token, "token", 0, "`token` of the run, if several overlap (overlap: allow)")
	c.Flags().StringVar(&release.Reason, "reason", "", "reason, in a few `words`; required")
	return c
}

// checkReason wants the reason that the locker will store.
func checkReason(reason string) error {
	switch n := len(strings.Join(strings.Fields(reason), " ")); {
	case n == 0:
		return failure.Usagef(`give a reason with --reason "…": the run's record will have it`)
	case n < locking.MinReason || n > locking.MaxReason:
		return failure.Usagef("--reason has %s: write %d to %d", view.Count(n, "byte", "bytes"), locking.MinReason, locking.MaxReason)
	}
	return nil
}

// released reports a forced release and its effects.
func released(l view.Lock) string {
	from := "an unknown holder"
	if l.Token != nil {
		from = fmt.Sprintf("%s with token %d", cmp.Or(view.Text(l.Holder), "somebody"), *l.Token)
	}
	if l.Tick != nil {
		from += " for tick " + *l.Tick
	}
	text := fmt.Sprintf("%s: the lock was taken from %s\n", l.Job, from)
	if l.Token == nil {
		return text + "its holder has no token that a sink could refuse: make sure that it has stopped\n"
	}
	text += "its context ends at its next extension, by default after a third of lock.ttl at most\n"
	switch {
	case l.Tick == nil:
	case view.Text(l.OnCrash) == "rerun":
		text += "its tick may be run again, with a larger token (on_crash: rerun)\n"
	default:
		text += "its tick is not run again\n"
	}
	return text
}

// leastEvery bounds how often top may look at the cluster, and leastBack and mostBack
// how far back.
const (
	leastEvery = 500 * time.Millisecond
	leastBack  = time.Minute
	mostBack   = 30 * 24 * time.Hour
)

func topCommand(a *cli) *cobra.Command {
	var of top.Options
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch the cluster: how the store is, who runs what, what comes next, what went wrong",
		Long: `Watch the cluster in the terminal. The first lines say how the store is, how many of
its nodes may still be lost, and how the latest ticks went. Below are the ticks that
failed or did not run, the active runs, the next ticks, the replicas, and the store or
its nodes. While the store does not answer, the view shows the last known state, its
age, and what to do.

Arrows, j and k select a row. Enter shows its job, replica or node, a job with its
newest ticks. / searches by name, and s orders the problems. t triggers the job and p
pauses or resumes it, after a question; the audit log records your name (--as), as for
quorate trigger and quorate pause. A pause needs a reason, and so does every command
with --server. Press q or Ctrl-C to leave, and ? for all keys. Times are UTC. Set
NO_COLOR to turn colours off.

With --once it prints one frame and ends. It does so too if standard output is not a
terminal, or TERM is dumb. Such a frame has no escape codes. In a pipe nothing is cut,
unless $COLUMNS says how wide it may be. Exit code 4 if the store does not answer.

Each read of the cluster covers the latest ticks of each job, however long the history
is. If reads take long, the view reads less often than --every, and at most a tenth of
the time.`,
		Example: `  quorate top
  quorate top --every 5s --since 12h
  quorate top --server https://cron.example.com
  quorate top --once | head -3`,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case of.Every < leastEvery:
				return failure.Usagef("--every %v: write %v or more", of.Every, leastEvery)
			case of.Back < leastBack || of.Back > mostBack:
				return failure.Usagef("--since %v: write how long ago, %v to %v", of.Back, leastBack, mostBack)
			}
			return nil
		},
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			of.By = cmp.Or(of.By, whoami())
			return top.Run(ctx, a.In, a.Out, cl, of)
		}),
	}
	c.Flags().DurationVar(&of.Every, "every", 2*time.Second, "read the cluster every `duration`")
	c.Flags().DurationVar(&of.Back, "since", time.Hour, "show how ticks of the last `duration` went, up to the latest 400 of all jobs")
	c.Flags().BoolVar(&of.Once, "once", false, "print one frame and exit")
	asFlag(c, &of.By)
	return c
}
