package commands

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// Open implements [commands.Store]. It sends nodes what they lack.
func (a *Commands) Open(ctx context.Context) (commands.Open, error) {
	const doing = "reading the commands"
	if err := ctx.Err(); err != nil {
		return commands.Open{}, err
	}
	views, err := a.readViews(ctx, doing)
	if err != nil {
		return commands.Open{}, err
	}
	p := merge(a.set.Quorum(), views)
	if lacking := p.lacking(); slices.ContainsFunc(lacking, func(m map[string]value) bool { return len(m) > 0 }) {
		p = merge(a.set.Quorum(), a.sendMissing(ctx, views, lacking))
	}
	if n := p.vouching(); n < a.set.Quorum() {
		return commands.Open{}, fmt.Errorf("%s: %w", doing, &graceError{n, a.set.Len(), a.set.OneStore()})
	}
	return p.open(a.Unreadable), nil
}

// A graceError says how many of the nodes have a complete memory.
type graceError struct {
	complete, nodes int
	oneStore        bool
}

func (e *graceError) Error() string {
	if e.oneStore {
		return "the store has no complete memory: it is new, or restarted less than a grace ago"
	}
	return fmt.Sprintf("%d of %d nodes have a complete memory; the others are new, or restarted less than a grace ago", e.complete, e.nodes)
}

// Is reports whether target is what a caller can do about it: wait, as without a quorum.
func (e *graceError) Is(target error) bool {
	return target == commands.ErrGrace || target == locking.ErrNoQuorum
}

// keepExpired is how long nodes keep an expired request, as in common.lua.
const keepExpired = 24 * time.Hour

// learnAtOnce bounds how many commands are sent to a node in one call.
const learnAtOnce = 50

// A view is one node's answer about all commands. It is never changed.
type view struct {
	node    *membership.Node
	version string
	// vouches is false for a node that may have lost its memory: commands that it lacks may
	// still exist.
	vouches bool
	now     int64 // the node's clock, ms
	values  map[string]value
}

// readViews asks all nodes for their commands, and returns the views of those that answered.
// Nodes whose version is unchanged send nothing.
func (a *Commands) readViews(ctx context.Context, doing string) ([]view, error) {
	all := a.set.Nodes()
	replies, views := make([]membership.Reply, len(all)), make([]view, len(all))
	var asking sync.WaitGroup
	for i, n := range all {
		known := a.view(n)
		asking.Go(func() {
			replies[i] = n.Call(ctx, a.lua.look, a.keys(), known.version)
			if replies[i].Err == nil {
				views[i] = a.update(known, n, replies[i])
			}
		})
	}
	asking.Wait()
	if _, err := a.set.Answers(doing, replies); err != nil {
		return nil, err
	}
	for i, r := range replies {
		if r.Err == nil {
			a.keepView(views[i])
		}
	}
	return slices.DeleteFunc(views, func(v view) bool { return v.node == nil }), nil
}

// sendMissing sends each node what it lacks, and returns the views after that.
func (a *Commands) sendMissing(ctx context.Context, views []view, lacking []map[string]value) []view {
	views = slices.Clone(views)
	var telling sync.WaitGroup
	for i, lacks := range lacking {
		telling.Go(func() {
			for fields := range slices.Chunk(slices.Sorted(maps.Keys(lacks)), learnAtOnce) {
				args := []any{a.keep}
				for _, field := range fields {
					args = append(args, field, lacks[field].String())
				}
				if r := views[i].node.Call(ctx, a.lua.learn, a.keys(), args...); r.Err != nil {
					return // it is sent the next time
				}
			}
			if len(lacks) == 0 {
				return
			}
			r := views[i].node.Call(ctx, a.lua.look, a.keys(), views[i].version)
			if r.Err == nil {
				views[i] = a.update(views[i], views[i].node, r)
			}
		})
	}
	telling.Wait()
	for _, v := range views {
		a.keepView(v)
	}
	return views
}

// update returns the view of a node after its answer.
func (a *Commands) update(v view, n *membership.Node, r membership.Reply) view {
	next := view{node: n, version: v.version, now: r.NodeTime.UnixMilli(), vouches: r.Arg(0) == "1", values: v.values}
	if r.Code == "SAME" {
		return next
	}
	next.version, next.values = r.Arg(1), map[string]value{}
	for i := 2; i+1 < len(r.Args); i += 2 {
		parsed, err := parseValue(r.Args[i+1])
		if err != nil {
			a.Unreadable.Skipped("command "+r.Args[i], err)
			continue
		}
		next.values[r.Args[i]] = parsed
	}
	return next
}

// view returns the node's last view; without a version if there is none.
func (a *Commands) view(n *membership.Node) view {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.views[n.Name()]
}

func (a *Commands) keepView(v view) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.views[v.node.Name()] = v
}

// A picture combines the views of several nodes.
type picture struct {
	quorum int
	views  []view
	now    int64            // the median of their clocks, ms
	best   map[string]value // the most advanced value of each register
}

func merge(quorum int, views []view) picture {
	p := picture{quorum: quorum, views: views, best: map[string]value{}}
	var clocks []int64
	held := map[string][]value{}
	for _, v := range views {
		clocks = append(clocks, v.now)
		for field, val := range v.values {
			if val.state != reserved {
				held[field] = append(held[field], val)
			}
		}
	}
	slices.Sort(clocks)
	p.now = clocks[(len(clocks)-1)/2]
	for field, all := range held {
		best := furthest(all)
		if best.state == pauseOrResume {
			best = latest(all)
		}
		if best.until == 0 || best.until+keepExpired.Milliseconds() > p.now {
			p.best[field] = best
		}
	}
	return p
}

// latest returns the pause or resume that counts.
func latest(all []value) value {
	return slices.MaxFunc(all, func(x, y value) int {
		if x.supersedes(y) {
			return 1
		}
		return -1
	})
}

// supersedes reports whether v wins over other, a pause or resume of the same target.
// learn.lua has the same rule.
func (v value) supersedes(other value) bool {
	return v.at > other.at || v.at == other.at && v.rest > other.rest
}

// lacking returns for each view the values that its node lacks.
func (p picture) lacking() []map[string]value {
	lacking := make([]map[string]value, len(p.views))
	for i, v := range p.views {
		lacking[i] = map[string]value{}
		for field, best := range p.best {
			if v.lacks(field, best) {
				lacking[i][field] = best
			}
		}
	}
	return lacking
}

// lacks reports whether the node would accept best, as in learn.lua.
func (v view) lacks(field string, best value) bool {
	have, known := v.values[field]
	switch {
	case best.state == pauseOrResume:
		return !known || best.supersedes(have)
	case best.until+keepExpired.Milliseconds() <= v.now:
		return false
	case best.state == closed:
		return have.state != closed
	}
	return !known || have.state == reserved && have.until <= v.now
}

// vouching counts the nodes whose memory is complete.
func (p picture) vouching() int {
	n := 0
	for _, v := range p.views {
		if v.vouches {
			n++
		}
	}
	return n
}

// open returns the commands in force.
func (p picture) open(u *unreadable.Log) commands.Open {
	var all commands.Open
	settled := p.settled()
	for _, field := range slices.Sorted(maps.Keys(p.best)) {
		v := p.best[field]
		command, err := v.command()
		if err != nil {
			u.Skipped("command "+field, err)
		}
		switch {
		case err != nil && v.state == pauseOrResume:
			series, _ := url.PathUnescape(v.series) // else it is a series that no job has
			all.Pauses = append(all.Pauses, unreadable.Pause(series, err))
		case err != nil:
		case v.state == closed, command.Kind == commands.Resume:
		case v.state == pauseOrResume:
			all.Pause(command, time.UnixMilli(p.now))
		case v.until <= p.now:
			all.Expired = append(all.Expired, command)
		case settled.before(v):
			all.Requests = append(all.Requests, command)
		}
	}
	commands.Sort(all.Requests)
	commands.Sort(all.Expired)
	return all
}

// settled is for each series the instant before which all its requests are known; no
// entry means no bound.
type settled map[string]int64

func (s settled) bound(series string, at int64) {
	if have, bounded := s[series]; !bounded || at < have {
		s[series] = at
	}
}

func (s settled) before(v value) bool {
	bound, bounded := s[v.series]
	return !bounded || v.at < bound
}

// settled says which requests must wait, so none overtakes an earlier one. A reserved
// instant blocks later ones; a request that too few nodes hold blocks itself and later
// ones.
func (p picture) settled() settled {
	s := settled{}
	for field, best := range p.best {
		if best.state == open && best.until > p.now && !p.confirmed(field, best) {
			s.bound(best.series, best.at)
		}
	}
	for _, v := range p.views {
		for _, val := range v.values {
			if val.state == reserved && val.until > v.now {
				s.bound(val.series, val.at+1)
			}
		}
	}
	return s
}

// confirmed reports whether a quorum holds the request. Nodes never change its instant,
// so then no other instant can be confirmed.
func (p picture) confirmed(field string, best value) bool {
	n := 0
	for _, v := range p.views {
		if v.values[field].at == best.at && v.values[field].state == open {
			n++
		}
	}
	return n >= p.quorum
}
