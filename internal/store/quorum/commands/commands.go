// Package commands keeps the commands of package scheduler/commands on the nodes that vote:
// triggers, backfills, cancels, pauses, and the audit log. A command acknowledged by a
// quorum shows in every later reading.
//
// Each node has three keys. The hash ns:acts has a register for each open request and
// each target that was paused. Two bounded logs hold commands (ns:audit) and refused commands
// (ns:refused). One script writes a command into both hash and log.
//
// # IDs
//
// A node stores the fingerprint of a command with its ID, if the ID is new to it. A command
// continues only if a quorum stores its own fingerprint, so no two commands have one ID.
// IDs of requests are kept with the requests; those of pauses and resumes for a day,
// the latest 200.
//
// # Pauses
//
// Of a target's pauses and resumes the one with the latest instant counts, on a node
// and between nodes. A new one takes an instant after all that a quorum has seen.
// Resumes, and pauses that have ended, are kept for 90 days, the latest 200: a node that was away
// for longer could bring an earlier pause back. A resume of a target that no node knows as paused is only in the
// audit log.
//
// # Requests, and their order
//
// The instant of a request is its order key in the job's stream of triggers or of
// backfills. Streams are claimed in order, so a request overtaken by a later one can
// never run. Hence a request is made in two rounds:
//
//	reserve   an instant after all that the node has reserved or taken in this
//	          series of requests; repeated until a quorum has reserved the same one
//	take      the request is open; a node that has seen a later one refuses a
//	          request that was not reserved there, or not in time
//
// Each node refuses to reserve beyond its bound of open requests and reservations. A request
// needs a quorum of them only, so requests that compete for the last places may together
// exceed the bound: on three nodes by half of what was left, on more by less than as much again.
//
// Readers follow two rules. A request shows when a quorum of the nodes that answered
// holds it. It does not show before every earlier instant reserved there has been taken
// or has expired.
//
// Suppose request T was acknowledged, and a reader shows a later U without T. Some node
// took T and answered the reader. It took T after its answer, or the reader would have
// seen T. If T's instant was reserved there by then, the reader waited. If it was
// reserved later, it lies after U, which the node had. If it was not reserved, the node
// refused T because of U. So no U overtakes T.
//
// A request without acknowledgement may or may not be done: the reservation has expired
// on some nodes, but others may have taken the request. A node never changes the
// instant of a request, so two instants never both have a quorum. The claim makes it
// run at most once.
//
// # Reading
//
// A replica asks every node each second. That is cheap while nothing changes: nodes
// answer with a version that grows with every change. The reader sends nodes what they
// lack. A node that may have lost its memory does not count toward the quorum of a
// reading for one grace, as with votes.
//
// A change of the list of nodes keeps only what the nodes in both lists know. Keep a
// quorum of the new list among them, or pause again.
package commands

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// Commands is a [commands.Store] on the nodes. It may be used by many goroutines. When too
// few nodes answer, every method returns locking.ErrNoQuorum and quotes the nodes.
type Commands struct {
	// Unreadable notes values that cannot be read.
	Unreadable *unreadable.Log

	set     *membership.Set
	keep    int // commands in the audit log
	refused int // commands in the log of refused commands
	most    int // open requests
	pauses  int // in force
	lua     scripts

	mu    sync.Mutex
	views map[string]view // each node's last answer, by name
}

// New returns the commands on the nodes of set. It contacts none of them. The caller closes
// the set.
func New(set *membership.Set) *Commands {
	return &Commands{
		set: set, keep: commands.KeepAudit, refused: commands.KeepRefused,
		most: commands.MaxOpen, pauses: commands.MaxPauses, lua: newScripts(), views: map[string]view{},
	}
}

// keys returns the keys of every script.
func (a *Commands) keys() []string {
	return []string{a.set.Key("acts"), a.set.Key("audit"), a.set.Key("refused")}
}

// call runs a script on all nodes and returns the replies of at least a quorum.
func (a *Commands) call(ctx context.Context, doing string, script *membership.Script, args ...any) ([]membership.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.set.Answers(doing, a.set.Call(ctx, script, a.keys(), args...))
}

// Do implements [commands.Store].
func (a *Commands) Do(ctx context.Context, command commands.Command) (commands.Command, error) {
	command, err := command.Ready()
	if err != nil {
		return commands.Command{}, err
	}
	doing := fmt.Sprintf("asking for a %s of %s", command.Kind, command.Target())
	r, err := a.reserve(ctx, doing, command)
	switch {
	case err != nil:
		return commands.Command{}, err
	case r.known != nil:
		return a.adopt(ctx, doing, idField(command), *r.known)
	}
	if command, err = command.Made(r.at); err != nil {
		return commands.Command{}, err
	}
	if command.Kind.Request() {
		return a.take(ctx, doing, command, r.by)
	}
	// A resume of a target that is not paused leaves only its ID.
	return command, a.storeAll(ctx, doing, command, r.hasPause || command.Kind == commands.Pause)
}

// storeAll sends the command to all nodes: under its ID, and a pause or resume that is in force
// also as the target's latest.
func (a *Commands) storeAll(ctx context.Context, doing string, command commands.Command, stands bool) error {
	v, err := newValue(command)
	if err != nil {
		return err
	}
	args := []any{a.keep}
	if v.state == pauseOrResume {
		if stands {
			args = append(args, pauseField(v.series), v.String())
		}
		v.state, v.until = closed, v.at
	}
	_, err = a.call(ctx, doing, a.lua.learn, append(args, idField(command), v.String())...)
	return err
}

// adopt returns a command that some node knew already, after sending it to the others.
func (a *Commands) adopt(ctx context.Context, doing, field string, known value) (commands.Command, error) {
	all, err := a.find(ctx, doing, field)
	if err != nil {
		return commands.Command{}, err
	}
	command, err := furthest(append(all, known)).command()
	if err != nil {
		return commands.Command{}, fmt.Errorf("%s: %w", doing, err)
	}
	return command, a.storeAll(ctx, doing, command, true)
}

// find returns the nodes' values of a command by its register.
func (a *Commands) find(ctx context.Context, doing, field string) ([]value, error) {
	replies, err := a.call(ctx, doing, a.lua.find, field)
	if err != nil {
		return nil, err
	}
	var all []value
	for _, r := range replies {
		if r.Arg(0) == "" {
			continue
		}
		v, err := parseValue(r.Arg(0))
		if err != nil {
			a.Unreadable.Skipped("command "+field, err)
			continue
		}
		if v.state != reserved {
			all = append(all, v)
		}
	}
	return all, nil
}

// furthest returns the most advanced value of a command: closed before open, then the one
// on most nodes, then the first as text. There must be one.
func furthest(all []value) value {
	held := map[value]int{}
	var best value
	for _, v := range all {
		held[v]++
	}
	for v, n := range held {
		switch have := held[best]; {
		case best == value{}, v.state == closed && best.state != closed:
			best = v
		case v.state != closed && best.state == closed:
		case n > have, n == have && v.String() < best.String():
			best = v
		}
	}
	return best
}

var _ commands.Store = (*Commands)(nil)

// reserveTries bounds how often an instant is requested that others want too.
const reserveTries = 30

// spread is the range of the random step to another instant after a conflict.
const spread = 16

// A reservation is an instant for a command, with what the nodes say of it.
type reservation struct {
	at time.Time
	by string
	// So many nodes have reserved it, have no place for another command, or know the ID as
	// another command's.
	ok, full, other int
	last            int64  // the latest instant in its way, ms
	known           *value // the command, if it is known already
	hasPause        bool   // the series may have a pause or resume
}

// reserve finds an instant after all others of the command's series.
func (a *Commands) reserve(ctx context.Context, doing string, command commands.Command) (r reservation, err error) {
	by, at, minority := crand.Text(), a.clock(), a.set.Len()-a.set.Quorum()
	for range reserveTries {
		r, err = a.reserveAt(ctx, doing, command, reservation{at: at, by: by})
		switch {
		case err != nil:
			return r, err
		case r.other > minority:
			return r, &commands.ReusedIDError{ID: command.ID}
		case r.known != nil, r.ok >= a.set.Quorum():
			return r, nil
		case r.full > minority:
			most, _ := a.limit(command).(int)
			return r, commands.TooMany(command.Kind, most)
		}
		at = time.UnixMilli(max(r.last, at.UnixMilli()) + 1 + rand.Int64N(spread)).UTC()
	}
	return r, fmt.Errorf("%s: %w: too many concurrent requests; try again", doing, locking.ErrSplit)
}

// limit is how many commands of this kind may be in force, "" for a resume, which has no
// limit.
func (a *Commands) limit(command commands.Command) any {
	switch {
	case command.Kind.Request():
		return command.Kind.Most(a.most)
	case command.Kind == commands.Pause:
		return a.pauses
	}
	return ""
}

// clock is the nodes' time: the local clock, corrected by the median offset.
func (a *Commands) clock() time.Time {
	ahead, _ := a.set.ClockOffset()
	return time.Now().Add(-ahead).Truncate(time.Millisecond).UTC()
}

// reserveAt asks all nodes once, and adds their answers.
func (a *Commands) reserveAt(ctx context.Context, doing string, command commands.Command, r reservation) (reservation, error) {
	command.At = r.at
	replies, err := a.call(ctx, doing, a.lua.reserve, command.ID, idField(command), seriesOf(command), r.at.UnixMilli(), command.Last().UnixMilli(),
		r.by, a.hold().Milliseconds(), command.Fingerprint(), a.limit(command))
	for _, reply := range replies {
		switch reply.Code {
		case "OK":
			r.ok++
			r.hasPause = r.hasPause || reply.Arg(0) == "1"
		case "OTHER":
			r.other++
		case "FULL":
			r.full++
		case "LAST":
			r.last = max(r.last, reply.Int(0))
		case "HAVE":
			v, err := parseValue(reply.Arg(0))
			if err != nil {
				return r, fmt.Errorf("%s: %s: %w", doing, reply.Node, err)
			}
			r.known = &v
		}
	}
	r.hasPause = r.hasPause || r.ok < a.set.Len() // a node that did not reserve it may have one
	return r, err
}

// hold is how long an instant stays reserved: somewhat longer than both rounds.
func (a *Commands) hold() time.Duration { return 4*a.set.Timeout() + time.Second }

// take makes the request open, at its reserved instant.
func (a *Commands) take(ctx context.Context, doing string, command commands.Command, by string) (commands.Command, error) {
	v, err := newValue(command)
	if err != nil {
		return commands.Command{}, err
	}
	replies, err := a.call(ctx, doing, a.lua.take, idField(command), v.String(), by, a.keep)
	if err != nil {
		return commands.Command{}, fmt.Errorf("%w; it may still be done: check quorate audit before you retry", err)
	}
	ok := 0
	for _, r := range replies {
		if r.Code == "OK" {
			ok++
		}
	}
	switch {
	case ok >= a.set.Quorum():
	case a.set.OneStore():
		return commands.Command{}, fmt.Errorf("%s: %w in time; it may still be done: check quorate audit before you retry", doing, a.set.NoQuorumError())
	default:
		return commands.Command{}, fmt.Errorf("%s: %w: %d of %d nodes took it in time; it may still be done: check quorate audit before you retry",
			doing, locking.ErrNoQuorum, ok, a.set.Len())
	}
	return command, nil
}

// Close implements [commands.Store].
func (a *Commands) Close(ctx context.Context, id, result string) error {
	doing := "closing request " + id
	all, err := a.find(ctx, doing, requestField(id))
	if err != nil || len(all) == 0 {
		return err
	}
	command, err := furthest(all).command()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if command.Closed.IsZero() {
		command = command.Done(result, a.clock())
	}
	return a.storeAll(ctx, doing, command, false)
}

// Audit implements [commands.Store].
func (a *Commands) Audit(ctx context.Context, limit int) ([]commands.Command, error) {
	const doing = "reading the audit log"
	replies, err := a.call(ctx, doing, a.lua.audit, limit)
	if err != nil {
		return nil, err
	}
	known := map[string]commands.Command{}
	for _, r := range replies {
		for _, text := range r.Args {
			command, err := commands.Decode([]byte(text))
			if err != nil {
				name := fmt.Sprintf("audit %.100q", text)
				a.Unreadable.Skipped(name, err)
				command = unreadable.Command(name, time.Time{}, err)
			}
			if have, twice := known[command.ID]; !twice || have.Closed.IsZero() {
				known[command.ID] = command
			}
		}
	}
	list := make([]commands.Command, 0, len(known))
	for _, command := range known {
		list = append(list, command)
	}
	commands.Sort(list)
	slices.Reverse(list)
	return list[:min(len(list), limit)], nil
}

// keepNote is how long a note stays among the requests, as a closed one, so nodes that
// missed it can learn it.
const keepNote = time.Minute

// Note implements [commands.Notebook].
func (a *Commands) Note(ctx context.Context, command commands.Command) error {
	command = command.Noted(a.clock())
	doing := "noting a " + string(command.Kind)
	v, err := newValue(command)
	if err != nil {
		return err
	}
	if command.Refused() { // a log of its own, so refusals do not push commands out of the audit log
		_, err = a.call(ctx, doing, a.lua.refuse, v.rest, v.at, a.refused)
		return err
	}
	v.state, v.series, v.last = closed, "note", 0
	v.until = command.At.Add(keepNote - keepExpired).UnixMilli()
	_, err = a.call(ctx, doing, a.lua.learn, a.keep, requestField(command.ID), v.String())
	return err
}

var _ commands.Notebook = (*Commands)(nil)
