package acts

import (
	"context"
	"fmt"
	"sync"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
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
