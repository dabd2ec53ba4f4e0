// Package nodetest is one node in plain Go, without server, goroutine or clock. Call
// takes the request that a client sends to a script, and returns what the script would
// reply. Import it only in tests.
//
// Package protocol decides about claims: this package parses a request, applies the rule
// and encodes the answer. It also implements what protocol does not cover: lists of
// members, what a node remembers, records of ticks that did not run, logs and rosters.
//
// Tests run the same random operations here, on a real server and on an embedded one.
// They compare every reply and all stored data, so a rule's script cannot deviate from
// its Go text unnoticed. The simulation of whole clusters uses this package for its
// nodes.
//
// The note of a claim is its packed form, as nodes store it. A request about a job
// whose argument is no number fails before it writes. Other scripts that fail half-way
// keep what they wrote before; so does Call.
package nodetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
)

// Embedded is the error of INFO in scripts on an embedded server, which has no run_id.
const Embedded = "section (server) is not supported"

// sweepEvery is the number of calls between sweeps of expired data.
const sweepEvery = 1000

// A Node is one server. Only one goroutine at a time may use it.
type Node struct {
	// RunID is what INFO reports; another one means a restart.
	RunID string
	// InfoError is what INFO answers instead, such as Embedded.
	InfoError string
	// Without are the checks that this node omits.
	Without Without

	State

	calls int
}

// New returns a blank node.
func New(runID string) *Node {
	return &Node{RunID: runID, State: Nothing()}
}

// Copy returns a node that shares nothing with n.
func (n *Node) Copy() *Node {
	c := *n
	c.State = n.State.Copy()
	return &c
}

// Restart restarts the server with the given memory: its own State (nothing lost), a
// Copy of an older one, one without expiring data (see Lasting), or Nothing.
func (n *Node) Restart(runID string, memory State) {
	n.RunID, n.State = runID, memory
}

// Info returns the server's INFO.
func (n *Node) Info() (string, error) {
	if n.InfoError != "" {
		return "", fmt.Errorf("%s", n.InfoError)
	}
	return strings.Join([]string{
		"# Server", "redis_version:7.2.4", "run_id:" + n.RunID,
		"# Replication", "role:master", "master_replid:" + n.RunID, "# Cluster", "cluster_enabled:0",
		"# Memory", "maxmemory_policy:noeviction", "# Persistence", "aof_enabled:1", "",
	}, "\r\n"), nil
}

// Call runs a script: keys and args are its KEYS and ARGV, now is the server's clock.
// The error matches ErrScript if the script would fail.
func (n *Node) Call(now time.Time, script string, keys, args []string) ([]string, error) {
	args, err := taken(args)
	if err != nil {
		return nil, err
	}
	c := &call{n: n, script: script, keys: keys, args: args, now: float64(now.UnixMilli())}
	if n.calls++; n.calls%sweepEvery == 0 {
		n.Sweep(now)
	}
	switch script {
	case "format":
		return c.format()
	case "open":
		return c.open()
	case "peek":
		if no, err := c.memory(); no != nil || err != nil {
			return no, err
		}
		return c.peek(), nil
	}
	rule, ok := c.rule(script)
	if !ok {
		return nil, scriptError("there is no script %q", script)
	}
	if no, err := c.memory(); no != nil || err != nil {
		return no, err
	}
	if no, err := c.membership(); no != nil || err != nil {
		return no, err
	}
	if !reads[script] && (script != "announce" || len(c.rest(5)) > 0) {
		n.Member.Served = true
	}
	answer, err := rule()
	if err != nil {
		return nil, err
	}
	wire := append(make([]string, 0, len(answer)+2), answer[0], digits(c.now), digits(c.floor))
	return append(wire, answer[1:]...), nil
}

// reads are the scripts that do not mark the node as serving replicas. All others are
// writes of replicas.
var reads = map[string]bool{
	"init": true, "seal": true, "try": true, "look": true, "evict": true, "forget": true, "names": true, "holding": true,
	"read": true, "log": true, "published": true, "left": true,
}

// rule returns the rule of a script. It returns the code and what follows clock and
// floor.
func (c *call) rule(script string) (func() ([]string, error), bool) {
	switch script {
	case "init":
		return c.init, true
	case "seal":
		return c.seal, true
	case "serve":
		return c.serve, true
	case "try":
		return func() ([]string, error) { return []string{"OK"}, nil }, true
	case "look":
		return c.job((*jobCall).look), true
	case "lock":
		return c.job((*jobCall).lock), true
	case "commit":
		return c.job((*jobCall).commit), true
	case "extend":
		return c.job((*jobCall).extend), true
	case "finish":
		return c.job((*jobCall).finish), true
	case "void":
		return c.job((*jobCall).void), true
	case "evict":
		return c.evict, true
	case "forget":
		return c.forget, true
	case "names":
		return c.names, true
	case "holding":
		return c.holding, true
	case "record":
		return c.record, true
	case "read":
		return c.read, true
	case "store":
		return c.store, true
	case "log":
		return c.log, true
	case "announce":
		return c.announce, true
	case "leave":
		return c.leave, true
	case "left":
		return c.left, true
	case "unpublish":
		return c.unpublish, true
	case "publish":
		return c.publish, true
	case "published":
		return c.published, true
	}
	return nil, false
}

// A call is one run of a script.
type call struct {
	n          *Node
	script     string
	keys, args []string
	now        float64
	// Set by memory, in ms: since when the node remembers, until when it abstains,
	// and the restart grace.
	since, floor, grace float64
	id                  string
}

// header is the number of arguments that all requests of a client share, see
// header.lua.
const header = 4

// The positions of the header's values in args.
const (
	argName = iota
	argMembers
	argEpoch
	argGrace
	argFormat
	argDurable
	argEmbedded
	argSealed
	argTTL
	headArgs
)

// taken splits the header's arguments.
func taken(args []string) ([]string, error) {
	if len(args) < header {
		return nil, scriptError("%d arguments are too few", len(args))
	}
	all := append(make([]string, 0, len(args)+headArgs-header), strings.Fields(args[0])...)
	if len(all) != argDurable {
		return nil, scriptError("%q is not what a node is for", args[0])
	}
	for _, letter := range []string{"d", "e", "s"} {
		all = append(all, flag(strings.Contains(args[2], letter)))
	}
	return append(all, args[3:]...), nil
}

// arg returns the i-th argument of the rule itself, counted from 1; empty if missing.
func (c *call) arg(i int) string {
	if i = headArgs + i - 1; i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// rest returns the arguments of the rule from the i-th on.
func (c *call) rest(i int) []string {
	if i = headArgs + i - 1; i < len(c.args) {
		return c.args[i:]
	}
	return nil
}

func (c *call) is(arg int) bool { return c.args[arg] == "1" }

// refuse returns a refusal.
func (c *call) refuse(what, held string) []string {
	return []string{"CONFIG", digits(c.now), what, held}
}

func answer(code string, args ...string) ([]string, error) {
	return append([]string{code}, args...), nil
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// A State is what a server stores of one namespace, by its full keys.
type State struct {
	// Member is ns:node; nil on a blank node.
	Member *Member
	// Jobs are locks, claims and runs, by the prefix of a job's keys. Tombstones of
	// their owners are in Dead, by key.
	Jobs map[string]protocol.State
	Dead map[string]protocol.Tombstone
	// Notes are those of ticks that did not run, oldest tick first.
	Notes map[string][]Run
	// Logs are the logs of the jobs' runs, by name, and their index.
	Logs map[string]map[string]string
	// Rosters are the announcements: names and what they announce.
	Rosters map[string]map[string]string
	// Left are the replicas that left.
	Left map[string]Left
}

// A Left is what a server keeps of replicas that left, the oldest first, and until when, in ms.
type Left struct {
	List  []Run
	Until int64
}

// A Member is the record of a formatted node.
type Member struct {
	// Format is empty if the record lacks the field member, as in format 1.
	Format, Name, Members, Epoch, Grace string
	RunID, Since, Embedded, Names       string
	// SealedFor is the target of a change of the list, SealedNames its members;
	// empty on a node that is not sealed. SealedAt is the clock at the seal.
	SealedFor, SealedNames, SealedAt string
	// GCFence and GCTick are the largest of the jobs that were forgotten.
	GCFence, GCTick string
	Served          bool
}

// Nothing is the memory of a server that lost everything.
func Nothing() State {
	return State{
		Jobs: map[string]protocol.State{}, Dead: map[string]protocol.Tombstone{}, Notes: map[string][]Run{},
		Logs: map[string]map[string]string{}, Rosters: map[string]map[string]string{}, Left: map[string]Left{},
	}
}

// Copy returns a State that shares nothing mutable with s. Rules do not change the
// State of a job but return another.
func (s State) Copy() State {
	c := State{
		Jobs: maps.Clone(s.Jobs), Dead: maps.Clone(s.Dead), Notes: maps.Clone(s.Notes),
		Logs: maps.Clone(s.Logs), Rosters: maps.Clone(s.Rosters), Left: maps.Clone(s.Left), // a rule replaces the list
	}
	if s.Member != nil {
		m := *s.Member
		c.Member = &m
	}
	for key, notes := range c.Notes {
		c.Notes[key] = slices.Clone(notes)
	}
	for key, logs := range c.Logs {
		c.Logs[key] = maps.Clone(logs)
	}
	for key, roster := range c.Rosters {
		c.Rosters[key] = maps.Clone(roster)
	}
	return c
}

// Lasting returns a copy of s without expiring data: locks, markers, tombstones and those that left.
func (s State) Lasting() State {
	c := s.Copy()
	clear(c.Dead)
	clear(c.Left)
	for key, job := range c.Jobs {
		if job.Lock.Until != Endless {
			job.Lock = protocol.Lease{}
		}
		job.TickLocks, job.Marker = nil, 0
		c.setJob(key, job)
	}
	return c
}

// Endless is the end of a lock that another client has set, and never expires.
const Endless = math.MaxInt64

// setJob stores the state of a job.
func (s *State) setJob(key string, job protocol.State) {
	job.Tombstones = nil
	s.Jobs[key] = job
}

// Sweep drops expired data.
func (s *State) Sweep(now time.Time) {
	ms := now.UnixMilli()
	over := func(l protocol.Lease) bool { return l.Owner == "" || ms > l.Until }
	maps.DeleteFunc(s.Dead, func(_ string, t protocol.Tombstone) bool { return ms > t.Until })
	maps.DeleteFunc(s.Left, func(_ string, l Left) bool { return ms > l.Until })
	for key, job := range s.Jobs {
		job.TickLocks = maps.Clone(job.TickLocks)
		maps.DeleteFunc(job.TickLocks, func(_ protocol.TickKey, l protocol.Lease) bool { return over(l) })
		if over(job.Lock) {
			job.Lock = protocol.Lease{}
		}
		if ms > job.Marker {
			job.Marker = 0
		}
		s.setJob(key, job)
	}
}

// Value is a lock as servers store it.
func Value(l protocol.Lease) string {
	if l.Committed {
		return l.Owner
	}
	return "?" + l.Owner
}

// Letter is the letter that servers store before a packed claim.
func Letter(c protocol.Claim) string {
	letter := map[protocol.Code]string{"": "-", protocol.OK: "O", protocol.RanOut: "R", protocol.Late: "L"}[c.Ended]
	switch {
	case c.Void:
		return "V"
	case c.Handed:
		return strings.ToLower(letter)
	}
	return letter
}

// ErrScript is the server's error for a script that failed. Its earlier writes stay.
var ErrScript = errors.New("ERR the script failed")

func scriptError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrScript, fmt.Sprintf(format, args...))
}

// number parses a number as Lua does, as far as clients write them.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// numbers parses texts that must all be numbers.
func numbers(texts ...string) ([]float64, error) {
	list := make([]float64, len(texts))
	for i, text := range texts {
		n, ok := number(text)
		if !ok {
			return nil, scriptError("%q is not a number", text)
		}
		list[i] = n
	}
	return list, nil
}

// digits formats a number with all its digits.
func digits(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

// integer formats an integer.
func integer[N int | int64 | uint64](n N) string { return fmt.Sprint(n) }

// A reader parses integers, and keeps the first error.
type reader struct{ err error }

func (r *reader) integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = scriptError("%q is not an integer", text)
	}
	return n
}
