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

//go:embed tail.lua
var tailLua string

// A Script is a rule that runs on a node, atomically, behind the checks of
// identity and membership. It may be used by many goroutines.
type Script struct {
	name   string
	text   string
	sha    string
	sealed bool
}

// NewScript returns a Script whose rule is the given Lua, the body of a
// function. It finds:
//
//	KEYS[2], KEYS[3] …  its own keys (KEYS[1] is ns:node)
//	arg(i)              its i-th argument, a string
//	now                 the node's clock, milliseconds
//	nowtext             the same as text
//	floor               the node abstains for ticks up to here, milliseconds
//	gracems             the restart grace, milliseconds
//	num(n)              n as text with all its digits
//	serve()             to be called when a claim is stored: from then on
//	                    nobody can declare the node as new
//
// and returns {code, nowtext, …strings}.
func NewScript(name, src string) *Script {
	return newScript(name, headLua+preludeLua+membersLua+"local function rule()\n"+src+"\nend\n"+tailLua)
}

func newScript(name, text string) *Script {
	sum := sha1.Sum([]byte(text)) // the name that Redis gives a script
	return &Script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
}

// AcceptSealed lets the rule run on a node that is sealed for a change of the
// list: finishes and reads do. It returns a copy.
func (s *Script) AcceptSealed() *Script {
	c := *s
	c.sealed = true
	return &c
}

// Name returns the name given to NewScript.
func (s *Script) Name() string { return s.name }

// Source returns the whole text as nodes run it.
func (s *Script) Source() string { return strings.Clone(s.text) }
