package nodes

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strings"
)

//go:embed head.lua
var headLua string

//go:embed prelude.lua
var preludeLua string

//go:embed members.lua
var membersLua string

//go:embed one.lua
var oneLua string

//go:embed many.lua
var manyLua string

// A Script is a rule that runs on a node, atomically, behind the checks of
// identity and membership. It may be used by many goroutines.
type Script struct {
	name    string
	one     program
	many    program // many calls in one request
	sealed  bool
	batched bool
}

// A program is a text that nodes run, and the name they give it.
type program struct{ text, sha string }

// NewScript returns a Script whose rule is the given Lua, the body of a
// function. It finds:
//
//	key(2), key(3) …    its own keys (KEYS[1] is ns:node)
//	arg(i)              its i-th argument, a string, i up to own.args
//	args(i, j)          its i-th to j-th argument, which the caller must have sent
//	now                 the node's clock, milliseconds
//	nowtext             the same as text
//	floor               the node abstains for ticks up to here, milliseconds
//	gracems             the restart grace, milliseconds
//	num(n)              n as text with all its digits
//	serve()             to be called when a claim is stored: from then on
//	                    nobody can declare the node as new
//
// and returns {code, nowtext, …strings}. What several rules share may come before
// it, in common: a request runs that once.
func NewScript(name, src string, common ...string) *Script {
	checked := headLua + preludeLua + membersLua + strings.Join(common, "") + "local function rule()\n" + src + "\nend\n"
	return &Script{name: name, one: newProgram(checked + oneLua), many: newProgram(checked + manyLua)}
}

// newScript returns a Script that is the whole text.
func newScript(name, text string) *Script {
	return &Script{name: name, one: newProgram(text)}
}

func newProgram(text string) program {
	sum := sha1.Sum([]byte(text))
	return program{text: text, sha: hex.EncodeToString(sum[:])}
}

// AcceptSealed lets the rule run on a node that is sealed for a change of the
// list: finishes and reads do. It returns a copy.
func (s *Script) AcceptSealed() *Script {
	c := *s
	c.sealed = true
	return &c
}

// Batched lets calls that meet share a request: the node runs dozens of them in
// a row, so each must take about as long as any other, and little. The rule names
// its keys by key(i), never by KEYS. It returns a copy.
func (s *Script) Batched() *Script {
	c := *s
	c.batched = true
	return &c
}

// Name returns the name given to NewScript.
func (s *Script) Name() string { return s.name }

// Source returns the whole text as nodes run it for one call.
func (s *Script) Source() string { return strings.Clone(s.one.text) }
