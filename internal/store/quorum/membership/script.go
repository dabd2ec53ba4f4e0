package membership

import (
	"embed"
	"strings"

	"github.com/quorate/quorate/internal/store/quorum/client"
)

//go:embed *.lua
var files embed.FS

// lua returns the text of the file with that name.
func lua(name string) string {
	text, _ := files.ReadFile(name + ".lua") // a test runs each script
	return string(text)
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
	before := lua("header") + lua("prelude") + lua("members") + strings.Join(common, "")
	return &Script{Script: client.NewRule(name, before, src)}
}

// newScript returns a Script that makes its own checks.
func newScript(name, text string) *Script {
	return &Script{Script: client.NewScript(name, lua("header")+text)}
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
		peek:    newScript("peek", lua("prelude")+lua("peek")),
		format:  newScript("format", lua("format")),
		init:    NewScript("init", lua("init")),
		seal:    NewScript("seal", lua("seal")).AcceptSealed(),
		open:    newScript("open", lua("open")),
		try:     NewScript("try", lua("try")),
		service: NewScript("service", lua("service")).AcceptSealed(),
	}
}

// commands are those that the project's scripts and clients need on a node.
var commands = [...]string{
	"eval", "evalsha", "info", "time",
	"get", "mget", "set", "mset", "del", "exists", "pttl", "pexpire",
	"hget", "hmget", "hgetall", "hscan", "hset", "hdel",
	"scan", "zadd", "zrem", "zrange", "zrangebyscore", "zremrangebyrank", "zscore",
}

// ACLRules returns the rules of the least privileged user for the namespace. A name and
// a password complete the command:
//
//	ACL SETUSER quorate on >password ~{quorate}:* ~quorate:node resetchannels -@all +eval …
//
// The key without braces belongs to format 1. It is looked up before a blank node is
// formatted.
func ACLRules(namespace string) string {
	return "~" + prefix(namespace) + "* ~" + untagged(namespace) + " resetchannels -@all +" + strings.Join(commands[:], " +")
}
