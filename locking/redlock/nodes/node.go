package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Node is one of the masters that vote. It may be used by many goroutines.
type Node struct {
	name      string
	url       nodeURL
	set       *Set
	transport Transport
	health    health
	clock     clock
	key       string // of what it says about itself
	headers   atomic.Pointer[headers]
}

// Name returns the name that membership compares.
func (n *Node) Name() string { return n.name }

// URL returns where the node is, without secrets.
func (n *Node) URL() string { return n.url.redacted }

// String returns the name of the node.
func (n *Node) String() string { return n.name }

// Up tells whether the node answered the last call.
func (n *Node) Up() bool { return n.health.get().cause == nil }

// Votes tells whether the node is one to ask first: it is up, was formatted, does
// not refuse this client, and does not abstain, as far as is known.
func (n *Node) Votes(now time.Time) bool {
	c := n.health.get()
	return !c.ailing() && c.rejected == nil && !n.clock.vouches().After(now)
}

// Call runs the script on the node, with the checks every script begins with.
// It returns within the timeout, which for a batched script counts from when it is
// sent: it waits half as long for that at most. It returns at once if the node is
// down, and when ctx ends.
func (n *Node) Call(ctx context.Context, script *Script, keys []string, args ...any) Reply {
	if n.batches(script) {
		return callTogether(ctx, []*Node{n}, 0, everyone, script, keys, args)[0]
	}
	if r, refused := n.refuses(); refused {
		n.tell(script, r)
		return r
	}
	r := n.run(ctx, script, keys, args)
	n.note(ctx, script, r)
	return r
}

// note lets what became of a call decide whether the node is up, and tells of it.
func (n *Node) note(ctx context.Context, script *Script, r Reply) {
	n.observe(ctx, r)
	n.noteRefusal(script, r)
	n.tell(script, r)
}

func (n *Node) tell(script *Script, r Reply) {
	if n.set.cfg.Observer.Replied != nil {
		n.set.cfg.Observer.Replied(script.name, r)
	}
}

// batches tells whether calls of the script share requests to the node.
func (n *Node) batches(script *Script) bool {
	_, ok := n.transport.(*wire)
	return ok && script.batched
}

// refuses returns the reply of a node that is not asked, if it is not.
func (n *Node) refuses() (Reply, bool) {
	err := n.health.admit(n.set.pause())
	if err == nil {
		return Reply{}, false
	}
	now := time.Now()
	return Reply{Node: n.name, Sent: now, Received: now, Err: err, unsent: true}, true
}

// noteRefusal keeps whether the node refuses this client, as the nodes of a list
// do that was changed meanwhile. It is asked all the same: it may still take a
// finish.
func (n *Node) noteRefusal(script *Script, r Reply) {
	if r.Err == nil {
		if !script.sealed && script != n.set.rules.peek {
			n.health.setRejected(nil) // those two would be let through
		}
		return
	}
	if errors.Is(r.Err, ErrBlank) {
		n.health.setRejected(nil)
		return
	}
	refusal, ok := errors.AsType[*RefusedError](r.Err)
	if ok && n.health.setRejected(refusal) && n.set.cfg.Observer.Warn != nil {
		n.set.cfg.Observer.Warn(n.name, refusal.Reason)
	}
}

// run calls the node whatever its health.
func (n *Node) run(ctx context.Context, script *Script, keys []string, args []any) Reply {
	ctx, cancel := context.WithTimeout(ctx, n.set.cfg.Timeout)
	defer cancel()
	keys = append(append(make([]string, 0, 1+len(keys)), n.key), keys...)
	args = append(append(make([]any, 0, headerArgs+len(args)), n.header(script)...), args...)
	r := Reply{Node: n.name, Sent: time.Now()}
	result, err := n.transport.Eval(ctx, n.name, script, keys, args)
	r.Received = time.Now()
	if err != nil {
		err = callError(ctx, err)
	}
	return n.heard(r, script, result, err)
}

// heard completes a reply by what was answered.
func (n *Node) heard(r Reply, script *Script, result any, err error) Reply {
	if err != nil {
		r.Err = n.doubt(script, err)
		return r
	}
	wire, err := fields(result)
	if err != nil {
		r.Err = fmt.Errorf("script %s: %w", script.name, err)
		return r
	}
	return n.read(r, wire)
}

// doubt looks at an error of a script. If a key holds what Quorate did not write,
// the next look tells whether it is the node's record.
func (n *Node) doubt(script *Script, err error) error {
	answer, ok := errors.AsType[*ServerError](err)
	switch {
	case !ok || answer.Code != "WRONGTYPE":
	case script == n.set.rules.peek: // it reads nothing but the record
		return n.refusal([]string{"record", n.key})
	case n.health.get().rejected == nil:
		n.health.setDoubted(true)
		n.set.poke()
	}
	return err
}

// header is what head.lua documents as ARGV[1] to ARGV[9]. Nobody changes it.
func (n *Node) header(script *Script) []any {
	epoch := n.set.Epoch()
	h := n.headers.Load()
	if h == nil || h.epoch != epoch {
		h = &headers{epoch: epoch, open: n.newHeader(epoch, false), sealed: n.newHeader(epoch, true)}
		n.headers.Store(h)
	}
	if script.sealed {
		return h.sealed
	}
	return h.open
}

// headers are what requests at an epoch begin with, made once: for scripts that
// leave sealed nodes alone, and for those that run there too.
type headers struct {
	epoch        int64
	open, sealed []any
}

func (n *Node) newHeader(epoch int64, sealed bool) []any {
	cfg := &n.set.cfg
	return []any{
		n.name, n.set.members.hash, epoch, cfg.Grace.Milliseconds(), FormatVersion,
		flag(cfg.Durable), flag(cfg.Embedded), flag(sealed), cfg.TTL.Milliseconds(),
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// read takes a script's answer apart: code, clock, floor, and the rule's own.
func (n *Node) read(r Reply, wire []string) Reply {
	ms, _ := strconv.ParseInt(wire[1], 10, 64)
	r.NodeTime = time.UnixMilli(ms)
	n.clock.sample(r)
	switch wire[0] {
	case "BLANK":
		n.clock.forget()
		r.Err = ErrBlank
	case "CONFIG":
		r.Err = n.refusal(wire[2:])
	default:
		r.Code = wire[0]
		if len(wire) > 2 {
			floor, _ := strconv.ParseInt(wire[2], 10, 64)
			n.sawFloor(floor)
			r.Args = wire[3:]
		}
	}
	return r
}

// sawFloor keeps up to when the node abstains, and tells of a new floor.
func (n *Node) sawFloor(floor int64) {
	if !n.clock.sawFloor(floor) {
		return
	}
	if until := n.clock.vouches(); until.After(time.Now()) && n.set.cfg.Observer.Restarted != nil {
		n.set.cfg.Observer.Restarted(n.name, until)
	}
}

// observe lets the outcome of a call decide whether the node is up.
func (n *Node) observe(ctx context.Context, r Reply) {
	switch {
	case neverAsked(r.Err):
		n.health.release()
	case !silent(r.Err):
		n.markUp()
		if blank := errors.Is(r.Err, ErrBlank); n.health.setBlank(blank) && blank {
			n.set.poke()
		}
	case gaveUp(ctx), errors.Is(r.Err, errLate):
		n.health.release()
	default:
		n.markDown(r.Err)
	}
}

// gaveUp tells whether the caller did not wait any longer: that says nothing of
// the node. A socket notices a deadline a moment before the context does.
func gaveUp(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// neverAsked tells whether the call got no connection of this process's own
// pool: that says nothing of the node.
func neverAsked(err error) bool {
	return err != nil && (errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrClosed) || errors.Is(err, errUnsent))
}

// silent tells whether the node was asked and did not answer at all.
func silent(err error) bool {
	if err == nil {
		return false
	}
	_, answered := errors.AsType[*ServerError](err)
	_, refused := errors.AsType[*RefusedError](err)
	return !answered && !refused && !errors.Is(err, ErrBlank) && !neverAsked(err)
}

func (n *Node) markUp() {
	if n.health.up() && n.set.cfg.Observer.Up != nil {
		n.set.cfg.Observer.Up(n.name)
	}
}

func (n *Node) markDown(err error) {
	if !n.health.down(err) {
		return
	}
	if n.set.cfg.Observer.Down != nil {
		n.set.cfg.Observer.Down(n.name, err)
	}
	n.set.poke()
}
