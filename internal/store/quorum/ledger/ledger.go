// Package ledger keeps the ledger and the roster on the nodes that vote.
//
// # Ledger
//
// Each node stores a job's records in two sorted sets, ordered by tick. Claims fill the
// set of runs. A release adds how the run finished (F), or late (L) on a node that had
// granted a later claim or none. The start (S) is the claim itself while it is the
// latest of its stream. A later claim moves it to the set if it has not ended. This
// package adds ticks that did not run (N) to the set of notes. It reads both sets, and
// the claims.
//
// A reader asks all nodes and needs a quorum of answers. A quorum accepted each claim,
// so every claim whose nodes kept their memory is among the answers. The answers about
// one claim are merged:
//
//	any F or L                  → how the run ended, in the run's own words
//	S, and a lock of its owner  → running
//	S alone                     → interrupted: the lease expired without a finish
//	S on fewer than a quorum    → interrupted, and it may not even have started:
//	                              its attempt was given up half-way, or nodes
//	                              lost their memory
//
// A tick without a claim has the outcome that was recorded: a skip before a miss, then
// what most nodes recorded. Each node keeps a bounded number of runs and of notes per
// job, and drops the earliest ticks. It stores the latest tick dropped, and those of the newest
// dropped success and failure: a quorum of nodes that know them has the newest. Readers ignore
// notes up to the latest dropped tick of all nodes, since a run of that tick may have
// been dropped.
//
// # Roster
//
// Heartbeats and the definitions of jobs are fields of two hashes per node. Nodes judge
// by their own clocks whether a heartbeat is recent, so different clocks of replicas do
// no harm. The contents of a set of jobs have their own key. It expires a day after the
// last renewal by a replica that serves the set.
package ledger

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// keepRecords is how many records of ticks that did not run a node keeps per job. Claims
// bound those of runs.
const keepRecords = 1000

// A Ledger is a [ledger.Store] and a [roster.Roster] on the nodes. It may
// be used by many goroutines. Every method returns locking.ErrNoQuorum, with
// what each node said, when too few nodes answered.
type Ledger struct {
	// Unreadable notes records that cannot be read.
	Unreadable *unreadable.Log

	set    *membership.Set
	keep   int           // notes per job
	lately time.Duration // how long a replica stays after its last beat
	lua    rules
	names  *[locking.MostNodes]string // of the nodes
	list   uint32                     // tells them from others
}

// New returns the ledger that the nodes of set keep. It contacts none of them.
// The caller closes the set.
func New(set *membership.Set) *Ledger {
	l := &Ledger{set: set, keep: keepRecords, lately: roster.SeenLately, lua: newRules()}
	l.list, l.names = set.List()
	return l
}

// Record implements [ledger.Store]. If several replicas record a tick
// at the same time, first is true for one of them: the one that reached the first answering node first.
func (l *Ledger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	r := scripts.Record{
		Kind: scripts.NotRun, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey(),
		Rank: e.Rank(), Note: ledger.EncodeNote(e),
	}
	doing := "recording a tick of " + e.Job
	replies := l.set.Call(ctx, l.lua.record, []string{l.set.JobKey(e.Job, "notes")},
		r.Tick.UnixMilli(), string(r.Kind)+r.Stream+"|", r.Encode(), l.keep)
	good, err := l.set.Answers(doing, replies)
	if err != nil {
		return false, err
	}
	good = slices.DeleteFunc(good, func(r membership.Reply) bool { return r.Code == "FUTURE" })
	if len(good) < l.set.Quorum() {
		return false, fmt.Errorf("%s: %w", doing, locking.ErrFuture)
	}
	return good[0].Code == "OK", nil
}

// Runs implements [ledger.Store].
func (l *Ledger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.read(ctx, q, runs)
}

// Ticks implements [ledger.Store].
func (l *Ledger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.read(ctx, q, ticks)
}

// RemembersSince implements [ledger.Rememberer].
func (l *Ledger) RemembersSince() (time.Time, bool) { return l.set.RemembersSince() }

var (
	_ ledger.Rememberer = (*Ledger)(nil)
	_ roster.Roster     = (*Ledger)(nil)
)

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h jobs.History, logs ...ledger.Log) error {
	h = h.WithDefaults()
	args := []any{h.Keep, h.MaxAge.Milliseconds(), max(h.MaxBytes, 0)}
	for _, log := range logs {
		args = append(args, logName(log.Tick, log.Token), ledger.EncodeLog(log))
	}
	keys := []string{l.set.JobKey(job, "runs"), l.set.JobKey(job, "notes"), l.set.JobKey(job, "logs")}
	_, err := l.set.Answers("storing a log of "+job, l.set.Call(ctx, l.lua.store, keys, args...))
	return err
}

// logName names a run among those of its job.
func logName(tick time.Time, token locking.Token) string {
	return strconv.FormatInt(tick.UnixMilli(), 10) + "." + strconv.FormatUint(uint64(token), 10)
}

// Log implements [ledger.Archive]. One node that has the log is enough. Of several
// versions the last one stored wins: a run in progress stores its log repeatedly, and
// not every node has the final version.
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	doing := "reading a log of " + job
	replies := l.set.Call(ctx, l.lua.log, []string{l.set.JobKey(job, "logs")}, logName(tick, token))
	var log ledger.Log
	found, unread := false, error(nil)
	for _, r := range replies {
		if r.Err != nil || r.Code != "OK" {
			continue
		}
		stored, err := ledger.DecodeLog([]byte(r.Arg(0)))
		if err != nil {
			l.Unreadable.Skipped("log "+job+" "+logName(tick, token), err)
			unread = fmt.Errorf("%s: %s: %w", doing, r.Node, err)
			continue
		}
		if !found || stored.Newer(log) {
			found, log = true, stored
		}
	}
	if !found {
		_, err := l.set.Answers(doing, replies)
		return ledger.Log{}, cmp.Or(unread, err, ledger.ErrNoLog)
	}
	log.Job, log.Tick, log.Token = job, tick, token
	l.nameNodes(&log.Run)
	return log, nil
}

// nameNodes adds the names of the nodes to their answers, if the list is this one.
func (l *Ledger) nameNodes(e *ledger.Entry) {
	if e.Poll.List == l.list {
		e.Poll.Names = l.names
	}
}

func (l *Ledger) nameNodesOf(list []ledger.Entry) []ledger.Entry {
	for i := range list {
		l.nameNodes(&list[i])
	}
	return list
}

var _ ledger.Archive = (*Ledger)(nil)

// NewForCopy returns a ledger that also writes jobs to nodes that are sealed for a copy.
func NewForCopy(set *membership.Set) *Ledger {
	l := New(set)
	l.lua.publish, l.lua.keepSet = l.lua.publish.AcceptSealed(), l.lua.keepSet.AcceptSealed()
	return l
}

// Copied returns what stores the entries of a job of another store, none of which is Running, and what is
// known of dropped ones.
func Copied(set *membership.Set, job string, all ledger.Skimmed) []transfer.Value {
	runs, notes := set.JobKey(job, "runs"), set.JobKey(job, "notes")
	var values []transfer.Value
	for _, e := range all.Entries {
		r := scripts.Record{
			Kind: scripts.Finished, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey(),
			Token: uint64(e.Token), Note: ledger.EncodeNote(e),
		}
		key := runs
		if !e.Ran() {
			r.Kind, r.Rank, key = scripts.NotRun, e.Rank(), notes
		}
		values = append(values, transfer.Value{Key: key, Score: fmt.Sprint(r.Tick.UnixMilli()), Text: r.Encode()})
	}
	if !all.Trimmed.IsZero() { // see trim.lua
		known := func(t time.Time) string {
			if t.IsZero() {
				return fmt.Sprint(-all.Trimmed.UnixMilli())
			}
			return fmt.Sprint(t.UnixMilli())
		}
		last := known(all.Trimmed)
		values = append(values, transfer.Value{Key: runs, Score: last, Text: "E"}, transfer.Value{Key: notes, Score: last, Text: "E"})
		values = append(values, transfer.Value{Key: runs, Score: "-1", Text: "E" + last + "," + known(all.TrimmedSuccess) + "," + known(all.TrimmedFailure)})
	}
	return values
}

//go:embed *.lua
var files embed.FS

// script returns the script in the file with that name.
func script(name string, common ...string) *membership.Script {
	return membership.NewScript(name, membership.Lua(files, name), common...)
}

// rules are the rules of this package. Reads also work on nodes that are sealed for a
// change of the list.
type rules struct {
	record, read       *membership.Script
	store, log         *membership.Script
	announce, look     *membership.Script
	leave, left        *membership.Script
	publish, published *membership.Script
	unpublish          *membership.Script
	keepSet, readSet   *membership.Script
}

func newRules() rules {
	announce := script("announce")
	return rules{
		record: script("record", scripts.TrimLua), read: script("read").AcceptSealed(),
		store: script("store", scripts.TrimLua).AcceptSealed(), log: script("log").AcceptSealed(),
		announce: announce, look: announce.AcceptSealed(),
		leave: script("leave").AcceptSealed(), left: script("left").AcceptSealed(),
		publish: script("publish"), published: script("published").AcceptSealed(), unpublish: script("unpublish").AcceptSealed(),
		keepSet: script("keep-set"), readSet: script("read-set").AcceptSealed(),
	}
}
