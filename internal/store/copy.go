package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Side is a store to copy from or to.
//
// A claim is copied without its lease. Its tick stays done, or open to a rerun. Tokens of the
// target begin above all tokens of the source. What the source may have forgotten counts as
// claimed in the target, too. So no tick runs a second time, and tokens only grow.
//
// Nothing is copied of replicas, of commands before the latest ones of the audit log, and of the
// names of Redis nodes.
type Side interface {
	// Name tells people which store it is.
	Name() string
	Records() Records
	Holders(context.Context) ([]locking.Holding, error)
	// Memory fails if a copy to the store has not finished.
	Memory(context.Context) (Memory, error)
	Target
}

// A Target is what a copy is written to. From Begin to End it refuses replicas. A copy that was
// stopped is not continued: the target must be emptied first.
type Target interface {
	// Begin closes the store for replicas, and returns its clock. The error matches
	// ErrNotEmpty if the store has something.
	Begin(context.Context) (time.Time, error)
	// PutEntries is called once for each job, with all entries, and what is known of dropped ones.
	PutEntries(ctx context.Context, job string, all ledger.Skimmed) error
	// PutCommands stores commands, which are in the order of their times.
	PutCommands(ctx context.Context, list []commands.Command) error
	// End stores the claims, and opens the store for replicas. It fails if the store has lost a
	// write.
	End(context.Context, Memory) error
}

// ErrNotEmpty is returned by Target.Begin.
var ErrNotEmpty = errors.New("the store is not empty")

// A Memory is what a store knows of the claims of all names.
type Memory struct {
	// Claims are the latest of each stream of each name, sorted. Done means that no replica
	// may run the tick again.
	Claims []locking.Holding
	// Fence is the largest token of all names, also of forgotten ones. Tick is the latest
	// tick of the forgotten names, in milliseconds.
	Fence uint64
	Tick  int64
	// Queued counts requests of applications that are not commands yet.
	Queued int
	// Floor is the time in milliseconds up to which the store may have forgotten claims; 0: none.
	Floor int64
}

// latest is the time of the largest token.
func (m Memory) latest() time.Time { return time.Unix(int64(m.Fence>>20), 0) }

// Since is the Since of a store with the given grace that has forgotten as much.
func (m Memory) Since(grace time.Duration) int64 {
	if m.Floor == 0 {
		return 0
	}
	return max(1, m.Floor-grace.Milliseconds())
}

// Counts are what was copied.
type Counts struct{ Names, Runs, NotRun, Logs, Commands, Pauses, Requests int }

// maxAhead is how far tokens may be ahead of the clock of the target: it grants larger ones soon.
const maxAhead = time.Second

type copier struct {
	from, to Side
	counts   Counts
}

// Copy copies everything, and opens the target for replicas. By is written into its audit log.
func Copy(ctx context.Context, from, to Side, by string) (Counts, error) {
	c := &copier{from: from, to: to}
	m, err := c.memory(ctx)
	if err != nil {
		return c.counts, err
	}
	now, err := to.Begin(ctx)
	switch {
	case errors.Is(err, ErrNotEmpty):
		return c.counts, fmt.Errorf("%s: %w; empty it, or copy to another namespace", to.Name(), err)
	case err != nil:
		return c.counts, err // it may have what is not of a copy
	}
	if ahead := m.latest().Sub(now); ahead > maxAhead {
		err = fmt.Errorf("the tokens of %s are %v ahead of the clock of %s: correct the clocks", from.Name(), ahead.Round(time.Second), to.Name())
	} else {
		err = c.copy(ctx, m, by)
	}
	if err != nil {
		return c.counts, fmt.Errorf("%w; the copy is not complete: empty %s and copy again", err, to.Name())
	}
	return c.counts, nil
}

// copy copies what belongs to the claims of m. They come last: a replica that starts meanwhile
// changes them.
func (c *copier) copy(ctx context.Context, m Memory, by string) error {
	list, err := c.copyJobs(ctx)
	if err != nil {
		return err
	}
	for _, claim := range m.Claims {
		list = append(list, claim.Name)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, job := range list {
		if err := c.copyLedger(ctx, job); err != nil {
			return err
		}
	}
	c.counts.Names = len(list)
	if err := c.copyCommands(ctx, by); err != nil {
		return err
	}
	now, err := c.memory(ctx)
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(now.Claims, m.Claims):
		return fmt.Errorf("a replica has used %s during the copy: stop it", c.from.Name())
	case now.Queued > 0:
		return fmt.Errorf("requests of applications wait in %s (%d): stop the applications, and let a replica take the requests", c.from.Name(), now.Queued)
	}
	return c.to.End(ctx, now)
}

// memory reads the claims of the source. It fails while a replica may use the source.
func (c *copier) memory(ctx context.Context) (Memory, error) {
	name := c.from.Name()
	live, err := c.from.Records().Roster.Replicas(ctx)
	if err != nil {
		return Memory{}, err
	}
	for _, r := range live {
		return Memory{}, fmt.Errorf("replica %s uses %s: stop all replicas; a replica that was killed counts for %v", r.ID, name, roster.SeenLately)
	}
	held, err := c.from.Holders(ctx)
	if err != nil {
		return Memory{}, err
	}
	for _, h := range held {
		if h.On.For > 0 {
			return Memory{}, fmt.Errorf("%s in %s is held for another %v by %s: stop it, or wait if it was killed", h.Name, name, h.Left.Round(time.Millisecond), h)
		}
	}
	return c.from.Memory(ctx)
}

// copyJobs copies the published versions of jobs with their sets, and returns their names.
func (c *copier) copyJobs(ctx context.Context) (names []string, err error) {
	from, to := c.from.Records(), c.to.Records()
	list, err := from.Roster.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	sets := map[string]bool{"": true}
	for _, j := range list {
		names = append(names, j.StoredAs())
		if sets[j.ConfigHash] {
			continue
		}
		sets[j.ConfigHash] = true
		packed, err := from.JobSets.JobSet(ctx, j.ConfigHash)
		if err == nil {
			err = to.JobSets.KeepSet(ctx, j.ConfigHash, packed)
		}
		if err != nil && !errors.Is(err, roster.ErrNoJobSet) {
			return nil, err
		}
	}
	return names, to.Roster.Publish(ctx, list)
}

const (
	entriesAtOnce = 400
	// logsAtOnce bounds the logs of a call, each of which has up to ledger.MaxLog bytes.
	logsAtOnce = 10
)

// copyLedger copies the entries of a job and their logs.
func (c *copier) copyLedger(ctx context.Context, job string) error {
	from := c.from.Records().Ledger
	var all ledger.Skimmed
	for next := (ledger.Stretch{Job: job, Limit: entriesAtOnce}); ; {
		pages, err := from.Skim(ctx, []ledger.Stretch{next}, false)
		if err != nil {
			return err
		}
		list, rest := append(all.Entries, pages[0].Entries...), pages[0].Rest
		all = pages[0]
		all.Entries = list
		if rest.IsZero() {
			break
		}
		if rest.Equal(next.NotAfter) { // one tick fills the page
			next.Limit *= 2
		}
		next.NotAfter = rest
	}
	all.Entries = withoutLost(all.Entries)
	if err := c.to.PutEntries(ctx, job, all); err != nil {
		return err
	}
	var logs []ledger.Log
	for _, e := range slices.Backward(all.Entries) {
		if !e.Ran() {
			c.counts.NotRun++
			continue
		}
		c.counts.Runs++
		log, err := from.Log(ctx, job, e.OrderKey(), e.Token)
		switch {
		case err == nil:
			logs = append(logs, log)
		case !errors.Is(err, ledger.ErrNoLog):
			return err
		}
	}
	c.counts.Logs += len(logs)
	for some := range slices.Chunk(logs, logsAtOnce) {
		if err := c.to.Records().Ledger.Store(ctx, job, jobs.History{Keep: jobs.MaxKeep, MaxBytes: 1 << 40}, some...); err != nil {
			return err
		}
	}
	return nil
}

// withoutLost drops claims that only a minority of Redis nodes knows if their tick has another
// run: such a claim is an attempt that lost.
func withoutLost(list []ledger.Entry) []ledger.Entry {
	doubtful := func(e ledger.Entry) bool { return e.Reason.Variant == ledger.VariantDoubtful }
	return slices.DeleteFunc(list, func(e ledger.Entry) bool {
		return doubtful(e) && slices.ContainsFunc(list, func(other ledger.Entry) bool {
			return other.Ran() && !doubtful(other) && other.Stream == e.Stream && other.OrderKey().Equal(e.OrderKey())
		})
	})
}

// copyCommands copies the commands in force and the audit log as far as every store keeps it, and adds
// the copy to the log.
func (c *copier) copyCommands(ctx context.Context, by string) error {
	from := c.from.Records().Commands
	var force commands.Open
	for before := -1; len(force.Requests) > before; { // a reading takes some of the queued requests
		before = len(force.Requests)
		var err error
		if force, err = from.Open(ctx); err != nil {
			return err
		}
	}
	audit, err := from.Audit(ctx, commands.KeepAudit+commands.KeepRefused)
	if err != nil {
		return err
	}
	c.counts.Commands, c.counts.Pauses, c.counts.Requests = len(audit), len(force.Pauses), len(force.Requests)
	list := slices.Concat(audit, force.Requests, force.Expired, force.Pauses)
	commands.Sort(list)
	list = slices.CompactFunc(list, func(a, b commands.Command) bool { return a.ID == b.ID })
	if err := c.to.PutCommands(ctx, list); err != nil {
		return err
	}
	return c.to.Records().Commands.Note(ctx, commands.Command{
		Kind: commands.Copy, All: true, By: by, Result: fmt.Sprintf("copied from %s, %d runs of %d names", c.from.Name(), c.counts.Runs, c.counts.Names),
	})
}
