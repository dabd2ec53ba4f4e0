package schedtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// oddArchive is a Ledger that changes what its Archive is given, and what is known of dropped entries.
type oddArchive struct {
	*Ledger
	store    func(*jobs.History, []ledger.Log) []ledger.Log
	deafened bool
	forgets  *locktest.Memory // what Store makes it forget
	skimmed  func(*ledger.Skimmed)
}

func (o oddArchive) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	list, err := o.Ledger.Skim(ctx, stretches, perTick)
	for i := range list {
		if o.skimmed != nil {
			o.skimmed(&list[i])
		}
	}
	return list, err
}

func (o oddArchive) Store(ctx context.Context, job string, h jobs.History, logs ...ledger.Log) error {
	if o.deafened {
		ctx = context.WithoutCancel(ctx)
	}
	if o.store != nil {
		logs = o.store(&h, slices.Clone(logs))
	}
	if o.forgets != nil {
		*o.forgets = locktest.Memory{}
	}
	return o.Ledger.Store(ctx, job, h, logs...)
}

func (o oddArchive) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	if o.deafened {
		ctx = context.WithoutCancel(ctx)
	}
	return o.Ledger.Log(ctx, job, tick, token)
}

// history changes what is to be kept; each changes the logs.
func history(change func(*jobs.History)) oddArchive {
	return oddArchive{store: func(h *jobs.History, logs []ledger.Log) []ledger.Log {
		change(h)
		return logs
	}}
}

func each(change func(*ledger.Log)) oddArchive {
	return oddArchive{store: func(_ *jobs.History, logs []ledger.Log) []ledger.Log {
		for i := range logs {
			change(&logs[i])
		}
		return logs
	}}
}

type archiveFault struct {
	archive oddArchive
	foundBy []string
}

func archiveFaults() map[string]archiveFault {
	trimmed := 0
	return map[string]archiveFault{
		"loses what was cut":    {each(func(l *ledger.Log) { l.Cut = 0 }), []string{"LogIsKept"}},
		"mixes attempts":        {each(func(l *ledger.Log) { l.Token = 101 }), []string{"AttemptsHaveLogsOfTheirOwn"}},
		"invents logs":          {each(func(l *ledger.Log) { l.Tick = l.Tick.Add(time.Second); l.Token++ }), []string{"NoLogIsAnError"}},
		"counts no logs":        {history(func(h *jobs.History) { h.Keep = 0 }), []string{"LogsAreBoundedByCount", "EntriesAreBoundedByCount", "NothingIsSaidOfTrimmedTicks"}},
		"counts notes as runs":  {history(func(h *jobs.History) { h.Keep /= 3 }), []string{"NoNoteEvictsARun"}},
		"counts no bytes":       {history(func(h *jobs.History) { h.MaxBytes = 0 }), []string{"LogsAreBoundedByBytes"}},
		"minds no age":          {history(func(h *jobs.History) { h.MaxAge = 0 }), []string{"LogsAreBoundedByAge", "EntriesAreBoundedByAge", "NewestEntryStays"}},
		"forgets the claims":    {oddArchive{forgets: new(locktest.Memory)}, []string{"TicksMayBeClaimedAlike"}},
		"forgets failures":      {oddArchive{skimmed: func(s *ledger.Skimmed) { s.TrimmedFailure = time.Time{} }}, []string{"LastEndsOfTrimmedRunsAreKnown"}},
		"all dropped succeeded": {oddArchive{skimmed: func(s *ledger.Skimmed) { s.TrimmedSuccess = s.Trimmed }}, []string{"LastEndsOfTrimmedRunsAreKnown"}},
		"never minds the end":   {oddArchive{deafened: true}, []string{"EndedContextIsAnError"}},
		"bounds nothing at first": {history(func(h *jobs.History) {
			if h.Keep > 0 {
				if trimmed++; trimmed == 1 {
					h.Keep = 0
				}
			}
		}), []string{"NothingIsSaidOfTrimmedTicks"}},
	}
}

// TestArchiveKitFindsFaults plants faults into an archive that is otherwise
// sound, and wants each found, and each check to find one.
func TestArchiveKitFindsFaults(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, f := range archiveFaults() {
		for _, check := range f.foundBy {
			i := slices.IndexFunc(archiveChecks(), func(c archiveCheck) bool { return c.name == check })
			if i < 0 {
				t.Fatalf("there is no check %s", check)
			}
			found[check] = true
			said := complaints(t, func(tb testing.TB) {
				locks := new(locktest.Memory)
				if f.archive.forgets != nil {
					f.archive.forgets = locks
				}
				f.archive.Ledger = NewLedger(locks)
				b := memoryLedger().withDefaults()
				b.New = func(testing.TB) (locking.Locker, ledger.Store) { return locks, f.archive }
				archiveChecks()[i].run(newArchiveBench(tb, b))
			})
			if len(said) == 0 {
				t.Errorf("%s: check %s does not see it", name, check)
			}
		}
	}
	for _, c := range archiveChecks() {
		if !found[c.name] {
			t.Errorf("no fault shows that check %s can fail", c.name)
		}
	}
}
