package redlock

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// A holding is a [locking.Holding] with what only this package needs. Of one node it is a
// claim, without Left and On; of all nodes an owner, with what they know of it together.
type holding struct {
	locking.Holding
	owner string // the try's value
	rerun bool   // the claim was finished, but its tick is not done

	// Of one node: the value in the lock of the claim's tick, if that exists.
	tickLock string
	left     time.Duration

	// Of all nodes:
	free   int // nodes without a lock, where an extension may set it again
	silent int // nodes that did not answer
}

// mayHold reports whether a quorum may hold the lock, or hold it again after an
// extension. Nodes that did not answer may be part of it.
func (h holding) mayHold() bool {
	able := h.On.For + h.silent
	if !h.Done && !h.Void {
		able += h.free
	}
	return h.On.For+h.silent > 0 && able >= h.On.Of/2+1
}

// Limits per request, so other clients of the node do not wait for long.
const (
	scanKeys  = 1000
	readNames = 100
)

// Holders lists the locks on the nodes of set, even on a minority, and the claims that
// were neither finished nor given back. It covers jobs and plain locks, sorted by name.
// It only reads, and ignores keys of other kinds. When fewer than a quorum answer, the
// error matches locking.ErrNoQuorum and quotes the other nodes.
func Holders(ctx context.Context, set *membership.Set) ([]locking.Holding, error) {
	found, err := survey(ctx, set, "listing the locks")
	if err != nil {
		return nil, err
	}
	var list []locking.Holding
	for _, h := range merge(set.Len(), found) {
		list = append(list, h.Holding)
	}
	return list, nil
}

// holdersOf lists the holdings of one name, the one on most nodes first.
func holdersOf(ctx context.Context, set *membership.Set, name string) ([]holding, error) {
	found, err := survey(ctx, set, "asking who holds "+name, name)
	if err != nil {
		return nil, err
	}
	return merge(set.Len(), found), nil
}

// survey returns what each node stores of the names, or without any of all that it knows.
// Doing describes the operation for errors.
func survey(ctx context.Context, set *membership.Set, doing string, of ...string) ([]map[string]sighting, error) {
	all := set.Nodes()
	found := make([]map[string]sighting, len(all))
	replies := make([]membership.Reply, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() {
			list, err := of, error(nil)
			if len(of) == 0 {
				list, err = names(ctx, set, n)
			}
			if err == nil {
				found[i], err = sightings(ctx, set, n, list)
			}
			replies[i] = membership.Reply{Node: n.Name(), Err: err}
		})
	}
	wg.Wait()
	_, err := set.Answers(doing, replies)
	return found, err
}

// sightings asks a node for its holdings of the names.
func sightings(ctx context.Context, set *membership.Set, n *membership.Node, names []string) (map[string]sighting, error) {
	held := map[string]sighting{}
	for some := range slices.Chunk(names, readNames) {
		reply := n.Call(ctx, scripts.Holding, scripts.HoldingKeys(set, some...))
		if reply.Err != nil {
			return nil, reply.Err
		}
		p := parser{args: reply.Args} // see holding.lua
		for _, name := range some {
			s := sighting{lock: p.owner(), left: p.left()}
			for range min(p.uint(), uint64(len(p.args))) {
				s.claims = append(s.claims, p.claim(name))
			}
			held[name] = s
		}
		if p.err != nil {
			return nil, fmt.Errorf("reading who holds what: %w", p.err)
		}
	}
	return held, nil
}

// names returns the names for which the node stores a lock or a claim.
func names(ctx context.Context, set *membership.Set, n *membership.Node) ([]string, error) {
	seen := map[string]bool{}
	for cursor := "0"; ; {
		r := n.Call(ctx, scripts.Names, nil, cursor, set.Key("job", ""), scanKeys)
		if r.Err != nil {
			return nil, r.Err
		}
		for _, name := range r.Args[min(1, len(r.Args)):] {
			seen[name] = true
		}
		if cursor = r.Arg(0); cursor == "0" || cursor == "" {
			return slices.Collect(maps.Keys(seen)), nil
		}
	}
}

// A sighting is what one node stores of one name.
type sighting struct {
	lock   string // the owner's value, "" without a lock
	left   time.Duration
	claims []holding
}

// claim reads a claim of the name, with its state.
func (p *parser) claim(name string) holding {
	state := p.text()
	c, err := scripts.Unpack(p.text())
	if err != nil && p.err == nil {
		p.err = err
	}
	h := holding{owner: c.Owner, rerun: state == strings.ToLower(state), tickLock: p.owner(), left: p.left()}
	h.Holding = locking.Holding{
		Name: name, Stream: c.Stream, Beside: c.Overlaps, Holder: c.Holder, Token: locking.Token(c.Token), Attempt: c.Attempt, Mode: c.Mode,
		Done: state != "-" && state != "V", Void: state == "V",
	}
	if c.Tick != 0 {
		h.Tick = time.UnixMilli(c.Tick).UTC()
	}
	if h.Known() {
		h.Since = protocol.TimeOf(c.Token).UTC()
	}
	return h
}

// owner reads a lock's value without the mark of LOCK.
func (p *parser) owner() string { return strings.TrimPrefix(p.text(), "?") }

// left reads a PTTL.
func (p *parser) left() time.Duration {
	text := p.text()
	ms, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && p.err == nil:
		p.err = err
	case ms == -1:
		return locking.Endless
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// A picture is what the nodes that answered store of one name.
type picture struct {
	claims map[string]holding         // by owner
	locks  map[string][]time.Duration // by owner: the time left on each node that holds it
	free   int                        // nodes without a lock
}

func newPicture() *picture {
	return &picture{claims: map[string]holding{}, locks: map[string][]time.Duration{}}
}

// merge combines the sightings of all nodes into one list. A nil map is a node that did
// not answer.
func merge(of int, found []map[string]sighting) []holding {
	pictures, answered := map[string]*picture{}, 0
	for _, held := range found {
		if held != nil {
			answered++
		}
		for name, s := range held {
			if _, ok := pictures[name]; !ok {
				pictures[name] = newPicture()
			}
			pictures[name].add(s)
		}
	}
	var list []holding
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		list = append(list, pictures[name].holdings(name, of, answered)...)
	}
	return list
}

func (p *picture) add(s sighting) {
	if s.lock != "" {
		p.locks[s.lock] = append(p.locks[s.lock], s.left)
	} else {
		p.free++
	}
	for _, c := range s.claims {
		if c.tickLock != "" {
			p.locks[c.tickLock] = append(p.locks[c.tickLock], c.left)
		}
		if of, known := p.claims[c.owner]; known { // one node is enough to know that it ended
			c.Done, c.Void = c.Done || of.Done, c.Void || of.Void
		}
		p.claims[c.owner] = c
	}
}

// holdings lists the owners with a lock on some node, those on most nodes first, and
// the owner of the latest claim if that is open.
func (p *picture) holdings(name string, of, answered int) []holding {
	var latest holding
	for _, c := range p.claims {
		if c.Token > latest.Token {
			latest = c
		}
	}
	owners := slices.Collect(maps.Keys(p.locks))
	if _, locked := p.locks[latest.owner]; !locked && latest.owner != "" && !latest.Done && !latest.Void {
		owners = append(owners, latest.owner)
	}
	var list []holding
	for _, owner := range owners {
		h, lefts := p.claims[owner], p.locks[owner] // a lock may have no claim
		h.Name, h.owner, h.silent = name, owner, of-answered
		h.Left, h.On = agreedLeft(lefts, of/2+1), locking.Votes{For: len(lefts), Of: of}
		if h.Known() {
			h.free = p.free
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b holding) int {
		return cmp.Or(cmp.Compare(b.On.For, a.On.For), cmp.Compare(b.Token, a.Token), cmp.Compare(a.owner, b.owner))
	})
	return list
}

// agreedLeft is how long q nodes will still hold the lock.
func agreedLeft(lefts []time.Duration, q int) time.Duration {
	if len(lefts) < q {
		return 0
	}
	slices.SortFunc(lefts, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return lefts[q-1]
}

// Latest lists the latest claims of all streams that the nodes know together, sorted by name
// and stream. Done means that no replica may run the tick again. When fewer than a quorum
// answer, the error matches locking.ErrNoQuorum.
func (l *Locker) Latest(ctx context.Context) ([]locking.Holding, error) {
	found, err := survey(ctx, l.set, "listing the claims")
	if err != nil {
		return nil, err
	}
	latest := map[[2]string]locking.Holding{}
	for _, node := range found {
		for name, s := range node {
			for _, c := range s.claims {
				h, of := c.Holding, [2]string{name, c.Stream}
				h.Done = c.Done && !c.rerun
				if have, ok := latest[of]; !ok || compareClaims(h, have) > 0 {
					latest[of] = h
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b locking.Holding) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Stream, b.Stream))
	}), nil
}

// compareClaims compares claims of a stream by tick. Of one tick those come last that keep more
// replicas from running it, and then those with larger tokens.
func compareClaims(a, b locking.Holding) int {
	return cmp.Or(a.Tick.Compare(b.Tick), cmp.Compare(excludes(a), excludes(b)), cmp.Compare(a.Token, b.Token))
}

func excludes(h locking.Holding) int {
	switch {
	case h.Done:
		return 3
	case h.Mode == locking.AtMostOnce && !h.Void:
		return 2
	case !h.Void:
		return 1
	}
	return 0
}

// Evict releases a lock by an operator's decision, and returns its holder. If several
// runs overlap, token selects one; 0 selects the only holder. The holder learns of it
// at its next extension: its context ends with a *locking.EvictedError that carries
// reason.
//
// The claim stays: its tick is not run again unless it was requested AtLeastOnce, and
// its token stays used. Another holder may begin before the evicted one has noticed,
// which takes up to a third of a TTL. So keep resources fenced.
//
// Evict returns locking.ErrReason, locking.ErrNotHeld, locking.ErrSeveral, or an error that matches
// locking.ErrNoQuorum when fewer than a quorum answer. It may then be partly done;
// repeating it is harmless.
func Evict(ctx context.Context, set *membership.Set, name string, token locking.Token, reason string) (locking.Holding, error) {
	reason, err := locking.CleanReason(name, reason)
	if err != nil {
		return locking.Holding{}, err
	}
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return locking.Holding{}, err
	}
	h, err := choose(name, token, held)
	if err != nil {
		return locking.Holding{}, err
	}
	lock := set.JobKey(h.Name, "lock")
	if h.Beside {
		lock = scripts.TickLock(set, h.Name, h.Stream, h.Tick)
	}
	replies := set.Call(ctx, scripts.Evict, []string{lock, set.Key("dead", h.owner)}, h.owner, reason)
	_, err = set.Answers("releasing "+name, replies)
	return h.Holding, err
}

// choose returns the holding that the token selects.
func choose(name string, token locking.Token, held []holding) (holding, error) {
	may := slices.DeleteFunc(slices.Clone(held), func(h holding) bool {
		return !h.mayHold() || token != 0 && h.Token != token
	})
	switch {
	case len(may) == 0 && token != 0 && len(held) > 0:
		return holding{}, fmt.Errorf("%s: %w with token %d", name, locking.ErrNotHeld, token)
	case len(may) == 0:
		return holding{}, notHeld(name, held)
	case len(may) > 1 && may[0].Beside:
		return holding{}, fmt.Errorf("%s: %w: %v and %v; name the token", name, locking.ErrSeveral, may[0], may[1])
	}
	return may[0], nil
}

// notHeld describes the leftovers of a lock that no one holds.
func notHeld(name string, held []holding) error {
	switch {
	case len(held) == 0:
		return fmt.Errorf("%s: %w", name, locking.ErrNotHeld)
	case held[0].On.For > 0:
		return fmt.Errorf("%s: %w: %v holds it on only %d of %d nodes, and that lock will expire", name, locking.ErrNotHeld, held[0], held[0].On.For, held[0].On.Of)
	}
	return fmt.Errorf("%s: %w: the lease of %v has expired, but its run never reported an end", name, locking.ErrNotHeld, held[0])
}

// Forget deletes the nodes' data of a name that is no longer used: the claim of a job or
// plain lock, and the job's ledger and logs. A program that locks short-lived things should
// forget them, since the nodes keep each one's claim forever.
//
// Forget is safe even if the name is used again. Each node remembers, for all forgotten
// names together, the largest token and the latest tick. Tokens keep growing, and no
// tick up to then runs, of this job or of another that the nodes do not know.
//
// It returns locking.ErrUnknownName if there is nothing to forget. The error matches
// locking.ErrTaken while a node holds the lock, or up to a TTL after overlapping runs
// ended. It matches locking.ErrNoQuorum when fewer than a quorum have forgotten the
// name. Repeating it is harmless. A node that was not reached may keep its data: no
// node relies on what others have forgotten.
func Forget(ctx context.Context, set *membership.Set, name string) error {
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return err
	}
	if len(held) > 0 && held[0].On.For > 0 {
		return fmt.Errorf("%s: %w by %v on %d of %d nodes", name, locking.ErrTaken, held[0], held[0].On.For, held[0].On.Of)
	}
	replies := set.Call(ctx, scripts.Forget, scripts.ForgetKeys(set, name))
	if _, err := set.Answers("forgetting "+name, replies); err != nil {
		return err
	}
	answers := map[protocol.Code]int{}
	for _, r := range replies {
		answers[protocol.Code(r.Code)]++
	}
	switch {
	case answers[protocol.Busy] > 0 && answers[protocol.OK]+answers[protocol.None] < set.Quorum():
		return fmt.Errorf("%s: %w: it is in use again", name, locking.ErrTaken)
	case answers[protocol.OK] == 0:
		return fmt.Errorf("%s: %w", name, locking.ErrUnknownName)
	}
	return nil
}
