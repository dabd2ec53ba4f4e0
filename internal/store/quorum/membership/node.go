package membership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
)

// A Node is one of the masters that vote. It may be used by many goroutines.
type Node struct {
	name    string
	link    *client.Link
	set     *Set
	state   state
	headers [2]atomic.Pointer[header] // for scripts that sealed nodes refuse, and for others
}

// Name returns the name that membership compares.
func (n *Node) Name() string { return n.name }

// URL returns the node's URL, without secrets.
func (n *Node) URL() string { return n.link.URL().Redacted }

// String returns the name of the node.
func (n *Node) String() string { return n.name }

// Call runs the script on the node, after the checks. It returns within the timeout, at
// once if the node is down, and when ctx ends.
func (n *Node) Call(ctx context.Context, script *Script, keys []string, args ...any) Reply {
	if reply, refused := n.refuses(); refused {
		n.notify(script, reply)
		return reply
	}
	r := n.parse(script, n.link.Eval(ctx, script.Script, n.header(script), keys, args))
	n.note(ctx, script, r)
	return r
}

// Start calls the script, made by NewScript, on the node and does not wait. A quorum of
// the fan decides. Calls at one node may share a request, so the script must be quick
// and use key(i) for its keys. Start calls done once with the result, from any
// goroutine and perhaps before it returns. The timeout counts from when the call is
// sent. Of ctx only the values are used.
func (n *Node) Start(ctx context.Context, fan *client.Fan, script *Script, keys client.Keys, args []any, done func(Reply)) {
	if reply, refused := n.refuses(); refused {
		n.notify(script, reply)
		done(reply)
		return
	}
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	fan.Start(ctx, n.link, script.Script, n.header(script), keys, args, func(a client.Answer) {
		r := n.parse(script, a)
		n.note(ctx, script, r)
		done(r)
	})
}

// note updates the node's health from a reply, and tells the observer.
func (n *Node) note(ctx context.Context, script *Script, r Reply) {
	n.observe(ctx, r)
	n.noteRefusal(script, r)
	n.notify(script, r)
}

func (n *Node) notify(script *Script, r Reply) {
	if n.set.cfg.Observer.Replied != nil {
		n.set.cfg.Observer.Replied(script.Name(), r)
	}
}

// refuses returns a reply without a call if the node must not be called.
func (n *Node) refuses() (Reply, bool) {
	err := n.state.learn(func(*known) {}).refused
	if err == nil {
		err = n.link.Admit(n.set.pause())
	}
	if err == nil {
		return Reply{}, false
	}
	now := time.Now()
	return Reply{Node: n.name, Sent: now, Received: now, Err: err, unsent: true}, true
}

// noteRefusal records whether the node refuses this client, as nodes do after a change
// of the list. It is still called, since it may accept a finish.
func (n *Node) noteRefusal(script *Script, r Reply) {
	refusal, refused := errors.AsType[*RefusedError](r.Err)
	mayPass := script.sealed || script == n.set.rules.peek // accepted even when others are refused
	if !refused && !errors.Is(r.Err, ErrBlank) && (r.Err != nil || mayPass) {
		return
	}
	before := n.state.learn(func(k *known) { k.rejected = refusal })
	if refused && before.rejected == nil && n.set.cfg.Observer.Warn != nil {
		n.set.cfg.Observer.Warn(n.name, refusal.Reason)
	}
}

// run calls the node even if it is down.
func (n *Node) run(ctx context.Context, script *Script, args ...any) Reply {
	return n.parse(script, n.link.Eval(ctx, script.Script, n.header(script), nil, args))
}

// parse reads an answer: code, clock, floor, and the rule's words.
func (n *Node) parse(script *Script, a client.Answer) Reply {
	r := Reply{Node: n.name, Sent: a.Sent, Received: a.Received}
	if a.Err != nil {
		r.Err = n.classify(script, a.Err)
		return r
	}
	ms, _ := strconv.ParseInt(a.Words[1], 10, 64)
	r.NodeTime = time.UnixMilli(ms)
	n.state.sample(r)
	switch words := a.Words; words[0] {
	case "BLANK":
		n.state.learn(func(k *known) { k.hasFloor = false })
		r.Err = ErrBlank
	case "CONFIG":
		refused := Reply{Args: words[2:]}
		r.Err = n.refusal(refused.Arg(0), refused.Arg(1))
	default:
		r.Code = words[0]
		if len(words) > 2 {
			floor, _ := strconv.ParseInt(words[2], 10, 64)
			n.sawFloor(r, floor)
			r.Args = words[3:]
		}
	}
	return r
}

// classify checks an error of a script. If a key has a wrong type, the next examination
// reports whether it is the node's record. If the node takes no writes, the next try
// reports whether that is so for all of them.
func (n *Node) classify(script *Script, err error) error {
	answer, ok := errors.AsType[*client.ServerError](err)
	wrong := ok && answer.Code == "WRONGTYPE"
	switch c := n.condition(); {
	case wrong && script == n.set.rules.peek: // PEEK reads only the record
		return n.refusal("record", n.set.Key("node"))
	case wrong && c.rejected == nil, ok && answer.RefusesWrites() && c.unwritable == nil && script != n.set.rules.try:
		n.state.learn(func(k *known) { k.doubted = true })
		n.set.wakeRun()
	}
	return err
}

// tryWrites finds out whether the node takes writes, and returns why not. Of a node that does
// not answer, or refuses this client, nothing is learned.
func tryWrites(ctx context.Context, n *Node) error {
	try := n.set.rules.try
	r := n.parse(try, n.link.Eval(ctx, try.Script, n.header(try), []string{n.set.Key("try")}, nil))
	answer, refuses := errors.AsType[*client.ServerError](r.Err)
	if r.Err != nil && !refuses {
		return nil
	}
	var why *UnwritableError
	if refuses {
		why = &UnwritableError{n.name, answer}
	}
	before := n.state.learn(func(k *known) { k.unwritable = why })
	if why == nil {
		return nil
	}
	if before.unwritable == nil && n.set.cfg.Observer.Warn != nil {
		n.set.cfg.Observer.Warn(n.name, withoutNode(n.name, why))
	}
	return why
}

// A header belongs to one epoch.
type header struct {
	epoch int64
	wire  client.Header
}

// header returns ARGV[1] to ARGV[4] of header.lua. It is cached per epoch and never
// changed.
func (n *Node) header(script *Script) *client.Header {
	cfg, epoch, cache := &n.set.cfg, n.set.Epoch(), &n.headers[0]
	if script.sealed {
		cache = &n.headers[1]
	}
	h := cache.Load()
	if h == nil || h.epoch != epoch {
		grace := cfg.Grace.Milliseconds()
		h = &header{epoch, client.Header{Key: n.set.Key("node"), Args: [...]any{
			fmt.Sprintf("%s %s %d %d %d", n.name, n.set.members.hash, epoch, grace, FormatVersion),
			grace, letter(cfg.Durable, "d") + letter(cfg.Embedded, "e") + letter(script.sealed, "s") + letter(n.set.single(), "f"), cfg.TTL.Milliseconds(),
		}}}
		cache.Store(h)
	}
	return &h.wire
}

func letter(is bool, s string) string {
	if is {
		return s
	}
	return ""
}

// sawFloor records until when the node abstains, and reports a new floor.
func (n *Node) sawFloor(r Reply, floor int64) {
	server := n.link.Server()
	before := n.state.learn(func(k *known) { k.floor, k.hasFloor, k.server = floor, true, server })
	if !before.hasFloor || before.floor == floor {
		return
	}
	// By the clock of this reply: that of earlier ones may have been another.
	if until := time.UnixMilli(floor).Add(-r.offset()); until.After(time.Now()) && n.set.cfg.Observer.Restarted != nil {
		n.set.cfg.Observer.Restarted(n.name, n.forgot(before, server, floor), until)
	}
}

// forgot says what is known of why the node remembers since now.
func (n *Node) forgot(before known, server string, floor int64) string {
	switch {
	case server != before.server && n.link.URL().Cluster():
		return fmt.Sprintf("the slot of the namespace has moved from %s to %s", before.server, server)
	case server != before.server:
		return fmt.Sprintf("the master is %s now, and was %s", server, before.server)
	case floor < before.floor:
		return "the clock of " + server + " was ahead, or has been set back"
	case n.set.single():
		return "the server at " + server + " was restarted or promoted, or is another one"
	}
	return "the server at " + server + " was restarted, or is another one"
}

// observe updates the node's health from a reply.
func (n *Node) observe(ctx context.Context, r Reply) {
	if !answered(r.Err) {
		n.link.Observe(ctx, r.Err)
		return
	}
	n.link.Observe(ctx, nil)
	blank := errors.Is(r.Err, ErrBlank)
	if before := n.state.learn(func(k *known) { k.blank = blank }); blank && !before.blank {
		n.set.wakeRun()
	}
}
