package membership

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// A Node is one of the masters that vote. It may be used by many goroutines.
type Node struct {
	name    string
	link    *client.Link
	set     *Set
	headers [2]atomic.Pointer[header] // for scripts that sealed nodes refuse, and for others

	mu      sync.Mutex
	state   state
	samples samples // of the last replies
}

// Name returns the name that membership compares.
func (n *Node) Name() string   { return n.name }
func (n *Node) String() string { return n.name }

// URL returns the node's URL, without secrets.
func (n *Node) URL() string { return n.link.URL().Redacted }

// Call runs the script on the node, after the checks. It returns within the timeout, at
// once if the node is down, and when ctx ends.
func (n *Node) Call(ctx context.Context, script *Script, keys []string, args ...any) Reply {
	if reply := n.unsendable(); reply.unsent {
		n.notify(script, reply)
		return reply
	}
	r := n.run(ctx, script, keys, args...)
	n.note(ctx, script, r)
	return r
}

// Start calls the script, made by NewScript, on the node and does not wait. A quorum of
// the fan decides. Calls at one node may share a request, so the script must be quick
// and use key(i) for its keys. Start calls done once with the result, from any
// goroutine and perhaps before it returns. The timeout counts from when the call is
// sent. Of ctx only the values are used.
func (n *Node) Start(ctx context.Context, fan *client.Fan, script *Script, keys client.Keys, args []any, done func(Reply)) {
	if reply := n.unsendable(); reply.unsent {
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

// unsendable returns a reply without a call, which is unsent if the node must not be called.
func (n *Node) unsendable() Reply {
	err := n.learn(func(*state) {}).unfit
	if err == nil {
		pause := retryPause
		if n.set.running.Load() {
			pause = 0 // as long as Run probes it
		}
		err = n.link.Admit(pause)
	}
	if err == nil {
		return Reply{Node: n.name}
	}
	now := time.Now()
	return Reply{Node: n.name, Sent: now, Received: now, Err: err, unsent: true}
}

// noteRefusal records whether the node refuses this client, as nodes do after a change
// of the list. It is still called, since it may accept a finish.
func (n *Node) noteRefusal(script *Script, r Reply) {
	refusal, refused := errors.AsType[*RefusedError](r.Err)
	mayPass := script.sealed || script == n.set.rules.peek // accepted even when others are refused
	if !refused && !errors.Is(r.Err, ErrBlank) && (r.Err != nil || mayPass) {
		return
	}
	before := n.learn(func(s *state) { s.refusal = refusal })
	if refused && before.refusal == nil && n.set.cfg.Observer.Warn != nil {
		n.set.cfg.Observer.Warn(n.name, refusal.Reason)
	}
}

// run calls the node even if it is down.
func (n *Node) run(ctx context.Context, script *Script, keys []string, args ...any) Reply {
	return n.parse(script, n.link.Eval(ctx, script.Script, n.header(script), keys, args))
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
	n.learn(func(s *state) {
		s.latest = r.Received.Sub(r.Sent)
		s.clock = n.samples.add(sample{offset: r.offset(), rtt: s.latest, taken: true})
	})
	switch words := a.Words; words[0] {
	case "BLANK":
		n.learn(func(s *state) { s.hasFloor = false })
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
	switch c := n.current(); {
	case wrong && script == n.set.rules.peek: // PEEK reads only the record
		return n.refusal("record", n.set.Key("node"))
	case wrong && c.refusal == nil, ok && answer.RefusesWrites() && c.unwritable == nil && script != n.set.rules.try:
		n.learn(func(s *state) { s.doubted = true })
		n.set.wakeRun()
	}
	return err
}

// tryWrites finds out whether the node takes writes, and returns why not. Of a node that does
// not answer, or refuses this client, nothing is learned.
func tryWrites(ctx context.Context, n *Node) error {
	r := n.run(ctx, n.set.rules.try, []string{n.set.Key("try")})
	answer, refuses := errors.AsType[*client.ServerError](r.Err)
	if r.Err != nil && !refuses {
		return nil
	}
	var why *UnwritableError
	if refuses {
		why = &UnwritableError{n.name, answer}
	}
	before := n.learn(func(s *state) { s.unwritable = why })
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
	cfg, epoch, cache := &n.set.cfg, n.set.epoch.get(), &n.headers[0]
	if script.sealed {
		cache = &n.headers[1]
	}
	h := cache.Load()
	if h == nil || h.epoch != epoch {
		grace := cfg.Grace.Milliseconds()
		h = &header{epoch, client.Header{Key: n.set.Key("node"), Args: [...]any{
			fmt.Sprintf("%s %s %d %d %d", n.name, n.set.hash, epoch, grace, FormatVersion),
			grace, letter(cfg.Durable, "d") + letter(cfg.Embedded, "e") + letter(script.sealed, "s") + letter(n.set.Len() == 1, "f"), cfg.TTL.Milliseconds(),
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
	before := n.learn(func(s *state) { s.floor, s.hasFloor, s.server = floor, true, server })
	if !before.hasFloor || before.floor == floor {
		return
	}
	// By the clock of this reply: that of earlier ones may have been another.
	if until := time.UnixMilli(floor).Add(-r.offset()); until.After(time.Now()) && n.set.cfg.Observer.Restarted != nil {
		n.set.cfg.Observer.Restarted(n.name, n.forgot(before, server, floor), until)
	}
}

// forgot says what is known of why the node remembers since now.
func (n *Node) forgot(before state, server string, floor int64) string {
	switch {
	case server != before.server && n.link.URL().Cluster():
		return fmt.Sprintf("the slot of the namespace has moved from %s to %s", before.server, server)
	case server != before.server:
		return fmt.Sprintf("the master is %s now, and was %s", server, before.server)
	case floor < before.floor:
		return "the clock of " + server + " was ahead, or has been set back"
	case n.set.Len() == 1:
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
	if before := n.learn(func(s *state) { s.blank = blank }); blank && !before.blank {
		n.set.wakeRun()
	}
}

// A state is what a node's replies have told so far.
type state struct {
	blank bool
	// unfit is why the node must not be used, by the last examination. It is not called then.
	unfit error
	// refusal is why the node refused the last call that it could refuse. It is still called,
	// since it may accept a finish.
	refusal *RefusedError
	// unwritable is why the node took no writes when that was last tried.
	unwritable *UnwritableError
	doubted    bool   // a call has failed in a way that other calls may, too
	runID      string // from the last INFO

	clock    sample        // the best of the last replies
	latest   time.Duration // the round trip of the last reply
	floor    int64         // the node abstains up to here, by its clock, ms; valid with hasFloor
	hasFloor bool          // the node has answered, and was not blank
	server   string        // the address of the server that gave the floor

	// Only in what current returns:
	cause error     // why the node is down; nil if it is up
	heard time.Time // when it last answered
}

// A sample measures how far the node's clock is ahead of the local one. The shorter the
// round trip, the better.
type sample struct {
	offset time.Duration
	rtt    time.Duration
	taken  bool
}

// samples are the last ones; the next one goes to last[next].
type samples struct {
	last [8]sample
	next int
}

// add returns the best sample then.
func (s *samples) add(one sample) (best sample) {
	s.last[s.next] = one
	s.next = (s.next + 1) % len(s.last)
	for _, one := range s.last {
		if one.taken && (!best.taken || one.rtt < best.rtt) {
			best = one
		}
	}
	return best
}

// vouches returns when, by the local clock, the node stops abstaining; zero if unknown.
func (s state) vouches() time.Time {
	if !s.hasFloor {
		return time.Time{}
	}
	return time.UnixMilli(s.floor).Add(-s.clock.offset)
}

// learn changes the state, and returns the one before.
func (n *Node) learn(change func(*state)) state {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.state
	change(&n.state)
	return before
}

// current returns the state, and the node's health.
func (n *Node) current() state {
	s := n.learn(func(*state) {})
	s.heard, s.cause = n.link.Health()
	return s
}

// needsAttention reports whether the node needs attention.
func (s state) needsAttention() bool {
	return s.cause != nil || s.unfit != nil || s.blank || s.unwritable != nil
}

// votes reports whether, as far as is known, the node is up and formatted, takes writes,
// accepts this client, and does not abstain.
func (s state) votes(now time.Time) bool {
	return !s.needsAttention() && s.refusal == nil && !s.vouches().After(now)
}

// A Reply is the result of one call to one node.
type Reply struct {
	Node string
	// Code and Args are the rule's answer; empty if Err is set.
	Code string
	Args []string
	// Sent and Received are by the local clock, with monotonic reading.
	Sent, Received time.Time
	// NodeTime is the node's clock when it ran the script; zero if it did not.
	NodeTime time.Time
	// Err is why there is no vote: client.ErrDown, ErrBlank, a *RefusedError, a
	// *client.ServerError, or a connection failure. After such a failure the script may
	// have run, or may still run, unless the Reply is Unsent.
	Err error

	unsent bool
}

// Int returns the i-th argument as a number, 0 if there is none.
func (r Reply) Int(i int) int64 {
	n, _ := strconv.ParseInt(r.Arg(i), 10, 64)
	return n
}

// Arg returns the i-th argument, "" if there is none.
func (r Reply) Arg(i int) string {
	if i >= len(r.Args) {
		return ""
	}
	return r.Args[i]
}

// offset is how far the node's clock was ahead of the local one in the middle of the
// call.
func (r Reply) offset() time.Duration {
	return r.NodeTime.Sub(r.Sent.Add(r.Received.Sub(r.Sent) / 2))
}

// Unsent reports whether the node was not called, so the script neither has run nor will.
func (r Reply) Unsent() bool {
	return r.unsent || client.Unsent(r.Err)
}

// Result returns the code in lower case, or one word for the error: "down" and "unsent"
// for nodes that were not called, "silent" for nodes that did not answer, "blank",
// "refused" and "error" for those that did.
func (r Reply) Result() string {
	switch {
	case r.Err == nil:
		return strings.ToLower(r.Code)
	case errors.Is(r.Err, client.ErrDown):
		return "down"
	case r.Unsent(), errors.Is(r.Err, redis.ErrClosed):
		return "unsent"
	case errors.Is(r.Err, ErrBlank):
		return "blank"
	case errors.Is(r.Err, locking.ErrRefused):
		return "refused"
	case !answered(r.Err):
		return "silent"
	}
	return "error"
}

// Refuses reports whether err is a refusal: by a node that is of another cluster, or by its
// server, which has the request but lacks rights, space, or what it is set to demand.
func Refuses(err error) bool {
	answer, ok := errors.AsType[*client.ServerError](err)
	return errors.Is(err, locking.ErrRefused) || ok && !answer.Passing()
}

// answered reports whether err is an answer of the node, as nil is.
func answered(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused || errors.Is(err, ErrBlank) || client.Answered(err)
}

//go:embed *.lua
var files embed.FS

// Lua returns the text of the files with these names, one after the other.
func Lua(files embed.FS, names ...string) string {
	var all strings.Builder
	for _, name := range names {
		text, _ := files.ReadFile(name + ".lua") // a test runs each script
		all.Write(text)
	}
	return all.String()
}

// A Script is a rule that runs atomically on a node, after the checks of identity and
// membership. It may be used by many goroutines.
type Script struct {
	*client.Script
	sealed bool
}

// NewScript returns a Script whose rule is the given Lua, the body of a function. It
// can use:
//
//	key(2), key(3) …    its own keys (KEYS[1] is ns:node)
//	arg(i)              its i-th argument, a string, i up to nargs
//	keys_before         how many KEYS come before its key(1), and args_before how many ARGV
//	now                 the node's clock, milliseconds
//	nowtext             the same as text
//	floor               the node abstains for ticks up to here, milliseconds
//	gracems             the restart grace, milliseconds
//	num(n)              n as text with all its digits
//	serve()             to be called before a replica's write: afterwards the
//	                    node cannot be declared new
//
// It returns {code, nowtext, …strings}. A request runs common, shared code, once before
// the rule.
func NewScript(name, src string, common ...string) *Script {
	before := Lua(files, "header", "prelude", "members") + strings.Join(common, "")
	return &Script{Script: client.NewRule(name, before, src)}
}

// newScript returns a Script of some files that makes its own checks.
func newScript(name string, from ...string) *Script {
	return &Script{Script: client.NewScript(name, Lua(files, append([]string{"header"}, from...)...))}
}

// AcceptSealed returns a copy that also runs on a node sealed for a change of the list,
// for finishes and reads.
func (s *Script) AcceptSealed() *Script { return &Script{Script: s.Script, sealed: true} }

// Copied returns a copy whose answer counts only when Config.Copies replicas have it (C9).
func (s *Script) Copied() *Script { return &Script{Script: s.Script.Copied(), sealed: s.sealed} }

// rules are the scripts of membership.
type rules struct{ peek, format, init, seal, open, try, service *Script }

func newRules() rules {
	return rules{
		peek:    newScript("peek", "prelude", "peek"),
		format:  newScript("format", "format"),
		init:    NewScript("init", Lua(files, "init")),
		seal:    NewScript("seal", Lua(files, "seal")).AcceptSealed(),
		open:    newScript("open", "open"),
		try:     NewScript("try", Lua(files, "try")),
		service: NewScript("service", Lua(files, "service")).AcceptSealed(),
	}
}
