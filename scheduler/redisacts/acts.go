package redisacts

import (
	"context"
	"fmt"
	"sync"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// Acts is a [scheduler.Acts] on the nodes. It may be used by many goroutines.
// Every method returns locking.ErrNoQuorum, with what each node said, when too
// few nodes answered.
type Acts struct {
	set     *nodes.Set
	keep    int // acts in the audit log
	refused int // acts in that of what was refused
	most    int // open requests
	pauses  int // that stand
	lua     scripts

	mu    sync.Mutex
	views map[string]view // what each node said last, by name
}

// New returns the acts that the nodes of set keep. It contacts none of them.
// The caller closes the set.
func New(set *nodes.Set) *Acts {
	return &Acts{
		set: set, keep: scheduler.KeepAudit, refused: scheduler.KeepRefused,
		most: scheduler.MaxOpenActs, pauses: scheduler.MaxPauses, lua: newScripts(), views: map[string]view{},
	}
}

// keys are those that every script takes.
func (a *Acts) keys() []string {
	return []string{a.set.Key("acts"), a.set.Key("audit"), a.set.Key("refused")}
}

// call runs a script on all nodes and returns what a quorum or more answered.
func (a *Acts) call(ctx context.Context, doing string, script *nodes.Script, args ...any) ([]nodes.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.set.Answers(doing, a.set.Call(ctx, script, a.keys(), args...))
}

// Do implements [scheduler.Acts].
func (a *Acts) Do(ctx context.Context, act scheduler.Act) (scheduler.Act, error) {
	act, err := act.Ready()
	if err != nil {
		return scheduler.Act{}, err
	}
	doing := fmt.Sprintf("asking for a %s of %s", act.Kind, act.Target())
	r, err := a.reserve(ctx, doing, act)
	switch {
	case err != nil:
		return scheduler.Act{}, err
	case r.known != nil:
		return a.adopt(ctx, doing, register(act), *r.known)
	}
	act.At = r.at
	if act.Kind.Request() {
		return a.take(ctx, doing, act, r.by)
	}
	// A resume of what nobody has paused leaves nothing behind but its ID.
	return act, a.tell(ctx, doing, act, r.standing || act.Kind == scheduler.ActPause)
}

// tell makes all nodes know the act as it is: a pause or resume by its ID, and as
// the one that counts if it stands.
func (a *Acts) tell(ctx context.Context, doing string, act scheduler.Act, stands bool) error {
	v, err := newValue(act)
	if err != nil {
		return err
	}
	args := []any{a.keep}
	if v.state == standing {
		if stands {
			args = append(args, standingOf(v.line), v.String())
		}
		v.state, v.until = closed, v.at
	}
	_, err = a.call(ctx, doing, a.lua.learn, append(args, register(act), v.String())...)
	return err
}

// adopt returns an act that some node knew already, and sees to it that a
// quorum does.
func (a *Acts) adopt(ctx context.Context, doing, field string, known value) (scheduler.Act, error) {
	all, err := a.find(ctx, doing, field)
	if err != nil {
		return scheduler.Act{}, err
	}
	act, err := furthest(append(all, known)).act()
	if err != nil {
		return scheduler.Act{}, fmt.Errorf("%s: %w", doing, err)
	}
	return act, a.tell(ctx, doing, act, true)
}

// find returns what the nodes know of an act by its register.
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
			return nil, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
		}
		if v.state != reserved {
			all = append(all, v)
		}
	}
	return all, nil
}

// furthest returns the value of an act that tells most: closed before open,
// then the one that most nodes hold, then always the same. There must be one.
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

var _ scheduler.Acts = (*Acts)(nil)
