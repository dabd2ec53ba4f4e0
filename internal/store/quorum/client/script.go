package client

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed head.lua
var headLua string

//go:embed one.lua
var oneLua string

//go:embed many.lua
var manyLua string

// A Script runs atomically on a node. It may be used by many goroutines.
type Script struct {
	name, text string
	one        *redis.Script
	many       *redis.Script // many calls in one request; nil if it is no rule
	copied     bool
}

// NewScript returns a Script whose text can use the declarations of head.lua.
func NewScript(name, text string) *Script {
	text = headLua + text
	return &Script{name: name, text: text, one: redis.NewScript(text)}
}

// NewRule returns a Script whose calls each run rule, the body of a function that
// returns {code, nowtext, …strings}. A request runs before once for all its calls.
// Before declares floor, which callers get as the third word. If it returns, that is
// the answer to all calls.
func NewRule(name, before, rule string) *Script {
	text := before + "local function rule()\n" + rule + "\nend\n"
	s := NewScript(name, text+oneLua)
	s.many = redis.NewScript(headLua + text + manyLua)
	return s
}

// Copied returns a copy whose answer counts only when Config.Copies replicas have what it
// wrote. A call that too few have fails with a *CopiesError.
func (s *Script) Copied() *Script {
	c := *s
	c.copied = true
	return &c
}

// Name returns the name given to the script.
func (s *Script) Name() string { return s.name }

// Source returns the whole text, as nodes run it for one call.
func (s *Script) Source() string { return s.text }
