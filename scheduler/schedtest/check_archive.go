package schedtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// RunArchive checks every promise of [ledger.Archive], one subtest each. The Ledger of
// b.New must also be a [ledger.Archive].
func RunArchive(t *testing.T, b LedgerBackend) {
	t.Helper()
	b = b.withDefaults()
	for _, c := range archiveChecks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(newArchiveBench(t, b))
			})
		})
	}
}

type archiveCheck struct {
	name string
	run  func(*archiveBench)
}

func archiveChecks() []archiveCheck {
	return []archiveCheck{
		{"LogIsKept", logIsKept},
		{"NoLogIsAnError", noLogIsAnError},
		{"AttemptsHaveLogsOfTheirOwn", attemptsHaveLogsOfTheirOwn},
		{"LogsAreBoundedByCount", logsAreBoundedByCount},
		{"LogsAreBoundedByBytes", logsAreBoundedByBytes},
		{"LogsAreBoundedByAge", logsAreBoundedByAge},
		{"EntriesAreBoundedByCount", entriesAreBoundedByCount},
		{"EntriesAreBoundedByAge", entriesAreBoundedByAge},
		{"NewestEntryStays", newestEntryStays},
		{"NoNoteEvictsARun", noNoteEvictsARun},
		{"NothingIsSaidOfTrimmedTicks", nothingIsSaidOfTrimmedTicks},
		{"LastEndsOfTrimmedRunsAreKnown", lastEndsOfTrimmedRunsAreKnown},
		{"TicksMayBeClaimedAlike", ticksMayBeClaimedAlike},
		{"EndedContextIsAnError", archiveEndedContextIsAnError},
	}
}

// archiveBench is one fresh cluster under test.
type archiveBench struct {
	*ledgerBench
	archive ledger.Archive
}

func newArchiveBench(t testing.TB, b LedgerBackend) *archiveBench {
	t.Helper()
	bench := &archiveBench{ledgerBench: newLedgerBench(t, b)}
	var ok bool
	if bench.archive, ok = bench.ledger.(ledger.Archive); !ok {
		t.Fatalf("the ledger is no scheduler.Archive")
	}
	return bench
}

// log is the log of the n-th tick's run, with that many bytes.
func (b *archiveBench) log(n, bytes int) ledger.Log {
	return ledger.Log{
		Job: jobName, Tick: b.tick(n), Token: locking.Token(100 + n),
		Text: strings.Repeat("é", bytes/2) + strings.Repeat("\n", bytes%2), Cut: n,
	}
}

// store stores logs, and tries again if a busy machine answered too late.
func (b *archiveBench) store(h jobs.History, logs ...ledger.Log) {
	b.Helper()
	b.settle()
	var err error
	for range tries {
		if err = b.archive.Store(b.Context(), jobName, h, logs...); !errors.Is(err, locking.ErrNoQuorum) {
			break
		}
		b.Wait(b.Short / 4)
	}
	if err != nil {
		b.Fatalf("Store = %v", err)
	}
}

// wantLogs fails unless the given logs from the first on are kept.
func (b *archiveBench) wantLogs(first int, logs []ledger.Log) {
	b.Helper()
	for i, want := range logs {
		got, err := b.archive.Log(b.Context(), jobName, want.Tick, want.Token)
		switch {
		case i < first && !errors.Is(err, ledger.ErrNoLog):
			b.Errorf("Log of tick %d = %d bytes, %v; want ErrNoLog", i, len(got.Text), err)
		case i >= first && (err != nil || got != want):
			b.Errorf("Log of tick %d =\n%+v, %v, want\n%+v", i, got, err, want)
		}
	}
}

// storeEach stores a log for each of the first n ticks, in another order, and returns them
// in order.
func (b *archiveBench) storeEach(h jobs.History, n, bytes int) []ledger.Log {
	b.Helper()
	logs := make([]ledger.Log, n)
	for i := range n {
		at := (i*7 + 3) % n // n is prime to 7
		logs[at] = b.log(at, bytes)
		b.store(jobs.History{}, logs[at])
	}
	b.store(h)
	return logs
}

func logIsKept(b *archiveBench) {
	log := b.log(1, 999)
	b.store(jobs.History{}, log)
	b.wantLogs(0, []ledger.Log{log})
	log.Text, log.Cut = "", 7
	b.store(jobs.History{}, log, b.log(2, 10))
	b.wantLogs(0, []ledger.Log{log, b.log(2, 10)})
}

func noLogIsAnError(b *archiveBench) {
	log := b.log(1, 10)
	b.wantLogs(1, []ledger.Log{log})
	b.store(jobs.History{}, log)
	b.wantLogs(1, []ledger.Log{b.log(2, 10)})
	b.store(jobs.History{MaxBytes: -1}, log)
	b.wantLogs(1, []ledger.Log{log})
}

func attemptsHaveLogsOfTheirOwn(b *archiveBench) {
	first, second := b.log(1, 10), b.log(1, 20)
	second.Token++
	b.store(jobs.History{}, first)
	b.store(jobs.History{}, second)
	b.wantLogs(0, []ledger.Log{first, second})
}

func logsAreBoundedByCount(b *archiveBench) {
	b.wantLogs(5, b.storeEach(jobs.History{Keep: 3}, 8, 10))
}

// logsAreBoundedByBytes allows the stored form of logs twice the size of their texts.
func logsAreBoundedByBytes(b *archiveBench) {
	logs := b.storeEach(jobs.History{MaxBytes: 3500}, 8, 1000)
	b.wantLogs(5, logs)
}

// logsAreBoundedByAge: the ticks are so far apart that a busy store takes less time.
func logsAreBoundedByAge(b *archiveBench) {
	var logs []ledger.Log
	for n := range 8 {
		logs = append(logs, b.log(100*n, 10))
		b.store(jobs.History{}, logs[n])
	}
	b.store(jobs.History{MaxAge: time.Since(b.tick(550))})
	b.wantLogs(6, logs)
}

func entriesAreBoundedByCount(b *archiveBench) {
	for n := range 10 {
		b.record(b.notRun(n, ledger.Skipped, "busy"))
	}
	b.store(jobs.History{Keep: 2})
	b.want("Ticks", b.ticks(10), b.notRun(9, ledger.Skipped, "busy"), b.notRun(8, ledger.Skipped, "busy"))
}

func entriesAreBoundedByAge(b *archiveBench) {
	for n := range 3 {
		b.record(b.notRun(n, ledger.Skipped, "busy"))
	}
	l := b.run(100)
	b.store(jobs.History{MaxAge: time.Since(b.tick(50))})
	b.wantBoth(of(l, b.finished(100, ledger.Succeeded)))
}

func newestEntryStays(b *archiveBench) {
	b.run(1)
	l := b.run(2)
	b.store(jobs.History{MaxAge: time.Minute})
	b.wantBoth(of(l, b.finished(2, ledger.Succeeded)))
}

// noNoteEvictsARun: runs and ticks that did not run are bounded apart.
func noNoteEvictsARun(b *archiveBench) {
	const keep = 3
	var want []ledger.Entry
	for n := range keep {
		want = append([]ledger.Entry{of(b.run(n), b.finished(n, ledger.Succeeded))}, want...)
	}
	for n := range 4 * keep {
		b.record(b.notRun(keep+n, ledger.Skipped, "busy"))
	}
	b.store(jobs.History{Keep: keep})
	b.want("Runs", b.runs(10), want...)
	if ticks := b.ticks(20); len(ticks) != 2*keep {
		b.Errorf("Ticks returned %d entries, want %d runs and as many skips", len(ticks), keep)
	}
}

// nothingIsSaidOfTrimmedTicks: once the run of a tick is dropped, no other record of the
// tick appears.
func nothingIsSaidOfTrimmedTicks(b *archiveBench) {
	const keep = 3
	var want []ledger.Entry
	for n := range 2 * keep {
		want = append([]ledger.Entry{of(b.run(n), b.finished(n, ledger.Succeeded))}, want...)
		b.record(b.notRun(n, ledger.Missed, "no quorum"))
	}
	b.store(jobs.History{Keep: keep})
	b.wantBoth(want[:keep]...)
	b.record(b.notRun(1, ledger.Missed, "late"))
	b.wantBoth(want[:keep]...)
	if s, ok := b.ledger.(ledger.Skimmer); ok {
		some := b.skim(s, []ledger.Stretch{{Job: jobName}, {Job: jobName + ".other"}}, true)
		if !some[0].Trimmed.Equal(b.tick(keep-1)) || !some[1].Trimmed.IsZero() {
			b.Errorf("trimmed up to %v and %v, want %v and nothing", some[0].Trimmed, some[1].Trimmed, b.tick(keep-1))
		}
	}
	for n := range 2 * keep {
		b.record(b.notRun(10+n, ledger.Skipped, "busy"))
	}
	b.store(jobs.History{Keep: keep})
	b.want("Runs", b.runs(10), want[:keep]...)
	if s, ok := b.ledger.(ledger.Skimmer); ok && !b.skim(s, []ledger.Stretch{{Job: jobName}}, true)[0].Trimmed.Equal(b.tick(9+keep)) {
		b.Errorf("trimming skips is not said")
	}
}

// lastEndsOfTrimmedRunsAreKnown: the newest of each kind, whether they are dropped by number or by age, in one step
// or in several.
func lastEndsOfTrimmedRunsAreKnown(b *archiveBench) {
	if _, ok := b.ledger.(ledger.Skimmer); !ok {
		return
	}
	end := func(n int, o ledger.Outcome) { b.end(b.claim(n, b.Long, locking.AtMostOnce), b.finished(n, o)) }
	const none = -1
	b.wantTrimmed(none, none, none)
	for n, o := range []ledger.Outcome{ledger.Failed, ledger.Succeeded, ledger.LeaseLost, ledger.Succeeded, ledger.TimedOut, ledger.Cancelled, ledger.Failed} {
		end(10*n, o)
		b.record(b.notRun(10*n+5, ledger.Missed, "no quorum"))
	}
	b.wantTrimmed(none, none, none)
	for _, step := range []struct{ keep, trimmed, success, failure int }{
		{6, 5, none, 0}, {5, 15, 10, 0}, {3, 35, 30, 20}, {2, 45, 30, 40}, {1, 55, 30, 40},
	} {
		b.store(jobs.History{Keep: step.keep})
		b.wantTrimmed(step.trimmed, step.success, step.failure)
	}
	end(1000, ledger.Succeeded)
	end(1010, ledger.Skipped)
	end(2000, ledger.Cancelled)
	b.store(jobs.History{MaxAge: time.Since(b.tick(1500))})
	b.wantTrimmed(1010, 1000, 60)
}

// wantTrimmed wants to know of the dropped entries of the ticks, of which a negative one is unknown.
func (b *archiveBench) wantTrimmed(trimmed, success, failure int) {
	b.Helper()
	at := func(n int) (t time.Time) {
		if n >= 0 {
			t = b.tick(n)
		}
		return t
	}
	list := b.skim(b.ledger.(ledger.Skimmer), []ledger.Stretch{{Job: jobName}, {Job: jobName + ".other"}}, false)
	of := func(s ledger.Skimmed) [3]time.Time {
		return [3]time.Time{s.Trimmed, s.TrimmedSuccess, s.TrimmedFailure}
	}
	got, want := of(list[0]), [3]time.Time{at(trimmed), at(success), at(failure)}
	if got != want || of(list[1]) != [3]time.Time{} {
		b.Errorf("entries were dropped up to, a success and a failure at %v, want %v; of another job at %v", got, want, of(list[1]))
	}
}

// ticksMayBeClaimedAlike: claims do not depend on what is kept.
func ticksMayBeClaimedAlike(b *archiveBench) {
	first, second := b.run(1), b.run(2)
	b.store(jobs.History{Keep: 1, MaxBytes: -1})
	for n := range 3 {
		_, err := b.locker.TryAcquire(b.Context(), locking.Request{Name: jobName, Tick: b.tick(n), TTL: b.Long, Holder: "b"})
		if err == nil {
			b.Errorf("tick %d is claimed again after the ledger dropped its entry", n)
		}
	}
	third := b.claim(3, b.Long, locking.AtMostOnce)
	if third.Claim().Token <= max(first.Claim().Token, second.Claim().Token) {
		b.Errorf("token %d after %d and %d", third.Claim().Token, first.Claim().Token, second.Claim().Token)
	}
}

func archiveEndedContextIsAnError(b *archiveBench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.archive.Store(ctx, jobName, jobs.History{}, b.log(1, 1)); err == nil {
		b.Error("Store = nil, want an error")
	}
	if _, err := b.archive.Log(ctx, jobName, b.tick(1), 101); err == nil || errors.Is(err, ledger.ErrNoLog) {
		b.Errorf("Log = %v, want another error", err)
	}
}
