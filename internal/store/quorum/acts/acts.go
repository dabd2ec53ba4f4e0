// Package acts keeps the acts of package scheduler/acts on the nodes that vote:
// triggers, backfills, cancels, pauses, and the audit log. An act acknowledged by a
// quorum shows in every later reading.
//
// Each node has three keys. The hash ns:acts has a register for each open request and
// each target that was paused. Two bounded logs hold acts (ns:audit) and refused acts
// (ns:refused). One script writes an act into both hash and log.
//
// # IDs
//
// A node stores the fingerprint of an act with its ID, if the ID is new to it. An act
// continues only if a quorum stores its own fingerprint, so no two acts have one ID.
// IDs of requests are kept with the requests; those of pauses and resumes for a day,
// the latest 200.
//
// # Pauses
//
// Of a target's pauses and resumes the one with the latest instant counts, on a node
// and between nodes. A new one takes an instant after all that a quorum has seen.
// Resumes are kept for 90 days, the latest 200: a node that was away for longer could
// bring a pause back. A resume of a target that no node knows as paused is only in the
// audit log.
//
// # Requests, and their order
//
// The instant of a request is its order key in the job's stream of triggers or of
// backfills. Streams are claimed in order, so a request overtaken by a later one can
// never run. Hence a request is made in two rounds:
//
//	reserve   an instant after all that the node has reserved or taken in this
//	          line of requests; repeated until a quorum has reserved the same one
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
package acts

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
	"github.com/quorate/quorate/scheduler/acts"
)

// Acts is a [acts.Store] on the nodes. It may be used by many goroutines. When too
// few nodes answer, every method returns locking.ErrNoQuorum and quotes the nodes.
type Acts struct {
	// Unreadable notes values that cannot be read.
	Unreadable *unreadable.Log

	set     *membership.Set
	keep    int // acts in the audit log
	refused int // acts in the log of refused acts
	most    int // open requests
	pauses  int // in force
	lua     scripts

	mu    sync.Mutex
	views map[string]view // each node's last answer, by name
}

// New returns the acts on the nodes of set. It contacts none of them. The caller closes
// the set.
func New(set *membership.Set) *Acts {
	return &Acts{
		set: set, keep: acts.KeepAudit, refused: acts.KeepRefused,
		most: acts.MaxOpen, pauses: acts.MaxPauses, lua: newScripts(), views: map[string]view{},
	}
}

// keys returns the keys of every script.
func (a *Acts) keys() []string {
	return []string{a.set.Key("acts"), a.set.Key("audit"), a.set.Key("refused")}
}

// call runs a script on all nodes and returns the replies of at least a quorum.
func (a *Acts) call(ctx context.Context, doing string, script *membership.Script, args ...any) ([]membership.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.set.Answers(doing, a.set.Call(ctx, script, a.keys(), args...))
}

// Do implements [acts.Store].
func (a *Acts) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	act, err := act.Ready()
	if err != nil {
		return acts.Act{}, err
	}
	doing := fmt.Sprintf("asking for a %s of %s", act.Kind, act.Target())
	r, err := a.reserve(ctx, doing, act)
	switch {
	case err != nil:
		return acts.Act{}, err
	case r.known != nil:
		return a.adopt(ctx, doing, register(act), *r.known)
	}
	act.At = r.at
	if act.Kind.Request() {
		return a.take(ctx, doing, act, r.by)
	}
	// A resume of a target that is not paused leaves only its ID.
	return act, a.storeAll(ctx, doing, act, r.hasPause || act.Kind == acts.Pause)
}

// storeAll sends the act to all nodes: under its ID, and a pause or resume that is in force
// also as the target's latest.
func (a *Acts) storeAll(ctx context.Context, doing string, act acts.Act, stands bool) error {
	v, err := newValue(act)
	if err != nil {
		return err
	}
	args := []any{a.keep}
	if v.state == pauseOrResume {
		if stands {
			args = append(args, pauseField(v.line), v.String())
		}
		v.state, v.until = closed, v.at
	}
	_, err = a.call(ctx, doing, a.lua.learn, append(args, register(act), v.String())...)
	return err
}

// adopt returns an act that some node knew already, after sending it to the others.
func (a *Acts) adopt(ctx context.Context, doing, field string, known value) (acts.Act, error) {
	all, err := a.find(ctx, doing, field)
	if err != nil {
		return acts.Act{}, err
	}
	act, err := furthest(append(all, known)).act()
	if err != nil {
		return acts.Act{}, fmt.Errorf("%s: %w", doing, err)
	}
	return act, a.storeAll(ctx, doing, act, true)
}

// find returns the nodes' values of an act by its register.
func (a *Acts) find(ctx context.Context, doing, field string) ([]value, error) {
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
			a.Unreadable.Skipped("act "+field, err)
			continue
		}
		if v.state != reserved {
			all = append(all, v)
		}
	}
	return all, nil
}

// furthest returns the most advanced value of an act: closed before open, then the one
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

var _ acts.Store = (*Acts)(nil)

// reserveTries bounds how often an instant is requested that others want too.
const reserveTries = 30

// spread is the range of the random step to another instant after a conflict.
const spread = 16

// A reservation is an instant for an act, or the act if it is known already.
type reservation struct {
	at       time.Time
	by       string
	known    *value
	hasPause bool // the line may have a pause or resume
}

// reserve finds an instant after all others of the act's line.
func (a *Acts) reserve(ctx context.Context, doing string, act acts.Act) (reservation, error) {
	r := reservation{by: crand.Text(), at: a.clock()}
	for range reserveTries {
		answers, err := a.askFor(ctx, doing, act, r)
		if err != nil {
			return r, err
		}
		r.known, r.hasPause = answers.known, answers.hasPause || answers.ok < a.set.Len()
		minority := a.set.Len() - a.set.Quorum()
		switch {
		case answers.other > minority:
			return r, &acts.ReusedIDError{ID: act.ID}
		case r.known != nil, answers.ok >= a.set.Quorum():
			return r, nil
		case answers.full > minority:
			most, _ := a.limit(act).(int)
			return r, acts.TooMany(act.Kind, most)
		}
		r.at = time.UnixMilli(max(answers.last, r.at.UnixMilli()) + 1 + rand.Int64N(spread)).UTC()
	}
	return r, fmt.Errorf("%s: %w: too many concurrent requests; try again", doing, locking.ErrSplit)
}

// limit is how many acts of this kind may be in force, "" for a resume, which has no
// limit.
func (a *Acts) limit(act acts.Act) any {
	switch {
	case act.Kind.Request():
		return act.Kind.Most(a.most)
	case act.Kind == acts.Pause:
		return a.pauses
	}
	return ""
}

// clock is the nodes' time: the local clock, corrected by the median offset.
func (a *Acts) clock() time.Time {
	ahead, _ := a.set.ClockOffset()
	return time.Now().Add(-ahead).Truncate(time.Millisecond).UTC()
}

// asked counts the answers to a reservation.
type asked struct {
	ok, full, other int
	last            int64
	known           *value
	hasPause        bool
}

func (a *Acts) askFor(ctx context.Context, doing string, act acts.Act, r reservation) (asked, error) {
	act.At = r.at
	replies, err := a.call(ctx, doing, a.lua.reserve, act.ID, register(act), lineOf(act), r.at.UnixMilli(), act.Last().UnixMilli(),
		r.by, a.hold().Milliseconds(), act.Fingerprint(), a.limit(act))
	if err != nil {
		return asked{}, err
	}
	var all asked
	for _, reply := range replies {
		if err := all.add(reply); err != nil {
			return asked{}, fmt.Errorf("%s: %s: %w", doing, reply.Node, err)
		}
	}
	return all, nil
}

func (a *asked) add(r membership.Reply) error {
	switch r.Code {
	case "OK":
		a.ok++
		a.hasPause = a.hasPause || r.Arg(0) == "1"
	case "OTHER":
		a.other++
	case "FULL":
		a.full++
	case "LAST":
		a.last = max(a.last, r.Int(0))
	case "HAVE":
		v, err := parseValue(r.Arg(0))
		a.known = &v
		return err
	}
	return nil
}

// hold is how long an instant stays reserved: somewhat longer than both rounds.
func (a *Acts) hold() time.Duration { return 4*a.set.Timeout() + time.Second }

// take makes the request open, at its reserved instant.
func (a *Acts) take(ctx context.Context, doing string, act acts.Act, by string) (acts.Act, error) {
	v, err := newValue(act)
	if err != nil {
		return acts.Act{}, err
	}
	replies, err := a.call(ctx, doing, a.lua.take, register(act), v.String(), by, a.keep)
	if err != nil {
		return acts.Act{}, fmt.Errorf("%w; it may still be done: check quorate audit before you retry", err)
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
		return acts.Act{}, fmt.Errorf("%s: %w in time; it may still be done: check quorate audit before you retry", doing, a.set.Silence())
	default:
		return acts.Act{}, fmt.Errorf("%s: %w: %d of %d nodes took it in time; it may still be done: check quorate audit before you retry",
			doing, locking.ErrNoQuorum, ok, a.set.Len())
	}
	return act, nil
}

// Close implements [acts.Store].
func (a *Acts) Close(ctx context.Context, id, result string) error {
	doing := "closing request " + id
	all, err := a.find(ctx, doing, requestOf(id))
	if err != nil || len(all) == 0 {
		return err
	}
	act, err := furthest(all).act()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if act.Closed.IsZero() {
		act = act.Done(result, a.clock())
	}
	return a.storeAll(ctx, doing, act, false)
}

// Audit implements [acts.Store].
func (a *Acts) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	const doing = "reading the audit log"
	replies, err := a.call(ctx, doing, a.lua.audit, limit)
	if err != nil {
		return nil, err
	}
	known := map[string]acts.Act{}
	for _, r := range replies {
		for _, text := range r.Args {
			act, err := acts.Decode([]byte(text))
			if err != nil {
				name := fmt.Sprintf("audit %.100q", text)
				a.Unreadable.Skipped(name, err)
				act = unreadable.Act(name, time.Time{}, err)
			}
			if have, twice := known[act.ID]; !twice || have.Closed.IsZero() {
				known[act.ID] = act
			}
		}
	}
	list := make([]acts.Act, 0, len(known))
	for _, act := range known {
		list = append(list, act)
	}
	acts.Sort(list)
	slices.Reverse(list)
	return list[:min(len(list), limit)], nil
}

// keepNote is how long a note stays among the requests, as a closed one, so nodes that
// missed it can learn it.
const keepNote = time.Minute

// Note implements [acts.Notebook].
func (a *Acts) Note(ctx context.Context, act acts.Act) error {
	act = act.Noted(a.clock())
	doing := "noting a " + string(act.Kind)
	v, err := newValue(act)
	if err != nil {
		return err
	}
	if act.Refused() { // a log of its own, so refusals do not push acts out of the audit log
		_, err = a.call(ctx, doing, a.lua.refuse, v.rest, v.at, a.refused)
		return err
	}
	v.state, v.line, v.last = closed, "note", 0
	v.until = act.At.Add(keepNote - keepExpired).UnixMilli()
	_, err = a.call(ctx, doing, a.lua.learn, a.keep, requestOf(act.ID), v.String())
	return err
}

var _ acts.Notebook = (*Acts)(nil)
