package nodetest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A State is what a server keeps of one namespace. Keys are those of the server,
// whole.
type State struct {
	// Member is ns:node; nil on a blank node.
	Member *Member
	// Texts are the locks and the tombstones.
	Texts  map[string]Text
	Claims map[string]Claim
	// Shares are those of the locks.
	Shares map[string]Shares
	// Runs are the records of the jobs and their notes, oldest tick first.
	Runs map[string][]Run
	// Logs are the logs of the jobs' runs, by name, and their index.
	Logs map[string]map[string]string
	// Rosters are the announcements: names and what they announce.
	Rosters map[string]map[string]string
}

// A Member is what a formatted node holds of itself.
type Member struct {
	Format, Name, Members, Epoch, Grace string
	RunID, Since, Embedded, Names       string
	// SealedFor is the target of a change of the list, SealedNames its members;
	// empty on a node that is not sealed. SealedAt is the clock at the seal.
	SealedFor, SealedNames, SealedAt string
	// GCFence and GCTick are the largest of the jobs that were forgotten.
	GCFence, GCTick string
	Served          bool
}

// A Text is a value that runs out.
type Text struct {
	Value   string
	Expires float64 // ms; 0: never
}

// A Claim is what a node has accepted of a job.
type Claim struct {
	Fence   string // empty: nothing yet
	Stream  string // the one accepted last
	Streams map[string]Stand
}

// A Stand is where a stream of a job stands: its last claim.
type Stand struct {
	Tick, Token, Owner, Mode, Attempt, Holder, At string
	// Handed is whether its run has ended, but is to be done again.
	Done, Handed, Void bool
	// RanOut is whether the lock had gone when the tick was done: 2 where a claim
	// of another stream had been accepted since; empty where none of the stream
	// ever was.
	RanOut string
}

// DoneText is what a node keeps of Done and Handed.
func (s Stand) DoneText() string {
	if s.Handed {
		return "2"
	}
	return flag(s.Done)
}

// gone is the record whose tick is the latest that was dropped.
const gone = "E"

// A Run is a record of a job.
type Run struct {
	Tick   float64
	Record string
}

func newState() State {
	return State{
		Texts: map[string]Text{}, Claims: map[string]Claim{}, Shares: map[string]Shares{},
		Runs: map[string][]Run{}, Logs: map[string]map[string]string{}, Rosters: map[string]map[string]string{},
	}
}

// Copy returns a State that shares nothing with s.
func (s State) Copy() State {
	c := State{
		Texts: maps.Clone(s.Texts), Claims: maps.Clone(s.Claims), Shares: maps.Clone(s.Shares),
		Runs: maps.Clone(s.Runs), Logs: maps.Clone(s.Logs), Rosters: maps.Clone(s.Rosters),
	}
	if s.Member != nil {
		m := *s.Member
		c.Member = &m
	}
	for key, claim := range c.Claims {
		claim.Streams = maps.Clone(claim.Streams)
		c.Claims[key] = claim
	}
	for key, shares := range c.Shares {
		shares.Of = maps.Clone(shares.Of)
		c.Shares[key] = shares
	}
	for key, runs := range c.Runs {
		c.Runs[key] = slices.Clone(runs)
	}
	for key, logs := range c.Logs {
		c.Logs[key] = maps.Clone(logs)
	}
	for key, roster := range c.Rosters {
		c.Rosters[key] = maps.Clone(roster)
	}
	return c
}

// text returns the value of a lock or a tombstone, and the ms left of it.
func (s *State) text(key string, now float64) (value string, left float64, ok bool) {
	t, ok := s.Texts[key]
	switch {
	case !ok || t.Expires != 0 && now > t.Expires:
		return "", 0, false
	case t.Expires == 0:
		return t.Value, 0, true
	}
	return t.Value, t.Expires - now, true
}

// setText stores a value for ttl, a text of ms.
func (s *State) setText(key, value, ttl string, now float64) error {
	ms, ok := integer(ttl)
	if !ok || ms <= 0 {
		return scriptError("invalid expire time %q", ttl)
	}
	s.Texts[key] = Text{Value: value, Expires: now + float64(ms)}
	return nil
}

// Sweep forgets what has run out.
func (s *State) Sweep(now time.Time) {
	ms := float64(now.UnixMilli())
	maps.DeleteFunc(s.Texts, func(_ string, t Text) bool { return t.Expires != 0 && ms > t.Expires })
	maps.DeleteFunc(s.Shares, func(_ string, h Shares) bool { return h.Expires != 0 && ms > h.Expires })
}

// addRun stores a record; one with the same text moves to the tick.
func (s *State) addRun(key, tick, record string) error {
	at, ok := number(tick)
	if !ok {
		return scriptError("value is not a valid float: %q", tick)
	}
	s.dropRun(key, record)
	run := Run{Tick: at, Record: record}
	i, _ := slices.BinarySearchFunc(s.Runs[key], run, compareRuns)
	s.Runs[key] = slices.Insert(s.Runs[key], i, run)
	return nil
}

func compareRuns(a, b Run) int {
	switch {
	case a.Tick < b.Tick:
		return -1
	case a.Tick > b.Tick:
		return 1
	}
	return strings.Compare(a.Record, b.Record)
}

func (s *State) dropRun(key, record string) {
	runs := s.Runs[key]
	if i := slices.IndexFunc(runs, func(r Run) bool { return r.Record == record }); i >= 0 {
		s.keepRuns(key, slices.Delete(runs, i, i+1))
	}
}

// boundRuns drops the oldest records beyond keep. The run named gone keeps the latest tick
// of those dropped.
func (s *State) boundRuns(key, keep string) error {
	n, ok := number(keep)
	if !ok || n < 0 {
		return scriptError("value is not an integer: %q", keep)
	}
	if extra := len(s.Runs[key]) - int(n); extra > 0 {
		s.trim(key, extra)
	}
	return nil
}

// trim drops the first n records and keeps the latest tick of them.
func (s *State) trim(key string, n int) {
	at := s.Runs[key][n-1].Tick
	for _, r := range s.Runs[key][n:] {
		if r.Record == gone {
			at = max(at, r.Tick)
		}
	}
	s.keepRuns(key, slices.Delete(s.Runs[key], 0, n))
	_ = s.addRun(key, digits(at), gone) // a tick is a number
}

// keepRuns stores what is left: a key without records is no key.
func (s *State) keepRuns(key string, runs []Run) {
	if len(runs) == 0 {
		delete(s.Runs, key)
		return
	}
	s.Runs[key] = runs
}
