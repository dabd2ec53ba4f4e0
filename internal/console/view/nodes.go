package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
)

// States of a node that the code compares. A slow node does not answer now but answered
// lately, so it may only be busy.
const (
	NodeVoting     = "voting"
	NodeReady      = "ready" // of one store: it grants ticks
	NodeAbstaining = "abstaining"
	NodeSlow       = "slow"
	NodeRefusing   = "refusing"
	NodeDown       = "down"
)

// Answers reports whether a node in the state answers.
func Answers(state string) bool { return state != NodeSlow && state != NodeDown }

// Kinds of rows of nodes.
const (
	KindNode  = "node"  // a Redis node, which votes
	KindStore = "store" // the only store, such as PostgreSQL
)

// A Node is one node, or the only store.
type Node struct {
	Node        string   `json:"node" jsonschema:"Name of the node."`
	Kind        string   `json:"kind" jsonschema:"node, or store for PostgreSQL."`
	URL         string   `json:"url" jsonschema:"Address without secrets."`
	State       string   `json:"state" jsonschema:"Of a store also ready: voting, abstaining, sealed, blank, refusing, slow or down."`
	Error       *string  `json:"error" jsonschema:"Last error."`
	Why         *string  `json:"why" jsonschema:"Why it does not vote yet."`
	Since       *string  `json:"since" jsonschema:"It remembers claims since this time."`
	VouchesAt   *string  `json:"vouches_at" jsonschema:"When it votes again on all ticks."`
	Members     []string `json:"members" jsonschema:"List of nodes that it belongs to."`
	Epoch       *int64   `json:"epoch" jsonschema:"Number of changes of that list."`
	SealedFor   []string `json:"sealed_for" jsonschema:"New list, during a change."`
	Role        *string  `json:"role" jsonschema:"Role in replication."`
	Version     *string  `json:"version" jsonschema:"Version of the server."`
	RunID       *string  `json:"run_id" jsonschema:"Changes when the server restarts."`
	Embedded    bool     `json:"embedded" jsonschema:"It runs inside quorate dev."`
	Persistence *string  `json:"persistence"`
	Eviction    *string  `json:"eviction" jsonschema:"maxmemory-policy of Redis."`
	RTTMillis   *float64 `json:"rtt_ms" jsonschema:"Duration of a request."`
	OffsetMilli *float64 `json:"offset_ms" jsonschema:"Its clock minus that of the replica."`
	Warnings    []string `json:"warnings" jsonschema:"Problems to fix."`
}

// A Check is the verdict on one node, or on the only store. Without a name it is about this
// machine.
type Check struct {
	Node        *string   `json:"node" jsonschema:"Name of the node; null: this row is about the machine of the replica."`
	Kind        string    `json:"kind" jsonschema:"node, store or machine."`
	State       string    `json:"state"`
	Verdict     string    `json:"verdict" jsonschema:"ok, wait or mend."`
	MayRestart  bool      `json:"may_restart" jsonschema:"A quorum of the other nodes votes, so this one may restart."`
	Findings    []Finding `json:"findings"`
	Version     *string   `json:"version" jsonschema:"Version of the server."`
	Persistence *string   `json:"persistence"`
	Fsync       *string   `json:"fsync" jsonschema:"appendfsync of Redis."`
	Eviction    *string   `json:"eviction" jsonschema:"maxmemory-policy of Redis."`
	MaxMemory   *int64    `json:"max_memory" jsonschema:"Limit in bytes."`
	UsedMemory  *int64    `json:"used_memory" jsonschema:"Bytes in use."`
	RTTMillis   *float64  `json:"rtt_ms" jsonschema:"Duration of a request."`
	OffsetMilli *float64  `json:"offset_ms" jsonschema:"Its clock minus that of the replica."`
}

// A Finding is a problem that will cost votes, memory or ticks. Text says what to do.
type Finding struct {
	Topic string `json:"topic"`
	Level string `json:"level" jsonschema:"note, wait or mend."`
	Text  string `json:"text" jsonschema:"The problem, and what to do."`
}

// A Lock is a held lock, or a run that never reported its end.
type Lock struct {
	Job        string         `json:"job" jsonschema:"Name of the job or the lock."`
	State      string         `json:"state" jsonschema:"held, unknown, partial or unfinished."`
	Holder     *string        `json:"holder" jsonschema:"Replica that holds it."`
	Tick       *string        `json:"tick"`
	Stream     *string        `json:"stream" jsonschema:"Stream of the tick: schedule, manual or backfill."`
	Beside     bool           `json:"beside" jsonschema:"The run may overlap with other ticks (overlap: allow)."`
	Token      *locking.Token `json:"token" jsonschema:"Fencing token of the claim."`
	Attempt    *int           `json:"attempt"`
	OnCrash    *string        `json:"on_crash" jsonschema:"Policy of the claim: skip or rerun."`
	Since      *string        `json:"since" jsonschema:"When the claim was granted."`
	LeftMillis *int64         `json:"left_ms" jsonschema:"Time until the lease ends; null: it has no end."`
	Nodes      string         `json:"nodes" jsonschema:"How many nodes hold it, of all, such as 3/5."`
	Done       bool           `json:"done" jsonschema:"The claim was finished, though a node still holds the lock."`
	Void       bool           `json:"void" jsonschema:"The claim was given back, though a node still holds the lock."`
}

// Locks are those of a store, as an operator sees them.
type Locks interface {
	// Holders lists who holds which lock.
	Holders(ctx context.Context) ([]locking.Holding, error)
	// Evict takes the lock of a job, or a plain one, from its holder. Token 0 stands for
	// the only holder. The errors are locking.ErrNotHeld, ErrSeveral and ErrReason.
	Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error)
	// ForgetLock drops what is stored under the name of a job or of a plain lock. The error
	// is locking.ErrTaken while it is held, and locking.ErrUnknownName if nothing is stored.
	ForgetLock(ctx context.Context, name string) error
}

// Evict takes a lock from its holder. The error is ErrNotFound if nobody holds it.
func Evict(ctx context.Context, l Locks, name string, token locking.Token, reason string) (locking.Holding, error) {
	h, err := l.Evict(ctx, name, token, reason)
	if errors.Is(err, locking.ErrNotHeld) {
		err = fmt.Errorf("%w: %w; quorate locks lists what is held", ErrNotFound, err)
	}
	return h, err
}

// EvictFrom is the Evict of a [Control].
func EvictFrom(l Locks) func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error) {
	return func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error) {
		h, err := Evict(ctx, l, name, token, reason)
		switch {
		case errors.Is(err, locking.ErrSeveral):
			err = &InvalidError{Msg: err.Error() + ", with its token"}
		case errors.Is(err, locking.ErrReason):
			err = &InvalidError{Msg: err.Error()}
		}
		return lockRow(h), err
	}
}

// Forget drops what is stored of a job, with the slots of its backfills, or of a plain
// lock. The error is that of Locks.ForgetLock.
func Forget(ctx context.Context, l Locks, key string) error {
	err := l.ForgetLock(ctx, key)
	if err != nil && !errors.Is(err, locking.ErrUnknownName) {
		return err
	}
	names := scheduler.BackfillSlots(key)
	errs := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names { // all at once, so that they share requests
		asking.Go(func() {
			if err := l.ForgetLock(ctx, name); !errors.Is(err, locking.ErrUnknownName) {
				errs[i] = err
			}
		})
	}
	asking.Wait()
	return cmp.Or(errors.Join(errs...), err)
}

// ForgetJob returns the Forget of scheduler.Stores: nothing stored is no error.
func ForgetJob(l Locks) func(ctx context.Context, key string) error {
	return func(ctx context.Context, key string) error {
		if err := Forget(ctx, l, key); !errors.Is(err, locking.ErrUnknownName) {
			return err
		}
		return nil
	}
}

// LockRows lists what is held.
func LockRows(held []locking.Holding) []Lock {
	var rows []Lock
	for _, h := range held {
		rows = append(rows, lockRow(h))
	}
	return rows
}

func lockRow(h locking.Holding) Lock {
	row := Lock{
		Job: h.Name, State: lockState(h), Holder: Optional(h.Holder), Tick: Stamp(h.Tick), Token: Optional(h.Token),
		Attempt: Optional(h.Attempt), Since: Stamp(h.Since), Nodes: fmt.Sprintf("%d/%d", h.On.For, h.On.Of),
		Done: h.Done, Void: h.Void, Beside: h.Beside,
	}
	if !h.Tick.IsZero() {
		row.Stream = Optional(h.Stream)
		row.OnCrash = Optional(map[locking.Mode]string{locking.AtMostOnce: "skip", locking.AtLeastOnce: "rerun"}[h.Mode])
	}
	if h.Left != locking.Endless {
		left := h.Left.Milliseconds()
		row.LeftMillis = &left
	}
	return row
}

func lockState(h locking.Holding) string {
	switch {
	case h.On.For == 0:
		return "unfinished"
	case !h.Held():
		return "partial"
	case !h.Known():
		return "unknown"
	}
	return "held"
}

// unreadableTicks is how many of the latest ticks Unreadable reads.
const unreadableTicks = 500

// Notes are what a check says of what is stored: of live replicas that should not be beside each
// other, and of records that cannot be read. For these it reads the jobs, the commands and the latest
// ticks; u has noted what was skipped. What cannot be read at all is left to other checks.
func (r Reader) Notes(ctx context.Context, u *unreadable.Log) (notes []Finding) {
	replicas, _ := r.Replicas(ctx)
	for _, text := range Neighbours(replicas) {
		notes = append(notes, Finding{Topic: "replicas", Level: "note", Text: text})
	}
	_, _ = r.Recent(ctx, RecentQuery{Limit: unreadableTicks, Ticks: true})
	_, _ = r.Commands.Open(ctx)
	_, _ = r.Commands.Audit(ctx, commands.KeepAudit)
	if n, first := u.Count(); n > 0 {
		text := fmt.Sprintf("%d stored records cannot be read and are skipped, such as %s: a later release wrote them, or they are damaged", n, first)
		notes = append(notes, Finding{Topic: "records", Level: "note", Text: text})
	}
	return notes
}

// An Owned store belongs to a service, if somebody has named it.
type Owned interface {
	// Service returns the name that the store keeps; "" if there is none. A name is kept if
	// there is none, with replace in place of another.
	Service(ctx context.Context, name string, replace bool) (kept string, err error)
}

// ErrOtherService is what an OtherServiceError matches.
var ErrOtherService = errors.New("the store belongs to another service")

// An OtherServiceError is why a replica does not start: its store belongs to another service.
type OtherServiceError struct {
	Namespace string
	Kept      string // the service that the store belongs to
	Own       string // that of the replica; empty: it names none
}

// Error says what to do.
func (e *OtherServiceError) Error() string {
	own := fmt.Sprintf("this replica is of service %q", e.Own)
	if e.Own == "" {
		own = "this replica names no service"
	}
	return fmt.Sprintf("namespace %s of the store belongs to service %q, and %s: give another service a namespace of its own, "+
		"or set service: %s if it is the same one; if the service was renamed, run: quorate store init --service NAME", e.Namespace, e.Kept, own, e.Kept)
}

// Unwrap returns ErrOtherService.
func (e *OtherServiceError) Unwrap() error { return ErrOtherService }

// ServiceFinding is what a check says of the service; none if nobody has named it.
func ServiceFinding(kept string) []Finding {
	if kept == "" {
		return nil
	}
	return []Finding{{Topic: "service", Level: "note", Text: fmt.Sprintf("the namespace belongs to service %q; quorate store init --service renames it", kept)}}
}

// Belong checks that the store belongs to the service own, and keeps that name if it has none. An
// empty one is never kept.
func Belong(ctx context.Context, store Owned, namespace, own string) error {
	kept, err := store.Service(ctx, "", false)
	if err == nil && own != "" && (kept == "" || kept == own) { // nodes may lack it
		kept, err = store.Service(ctx, own, false)
	}
	if err == nil && kept != own {
		err = &OtherServiceError{namespace, kept, own}
	}
	return err
}
