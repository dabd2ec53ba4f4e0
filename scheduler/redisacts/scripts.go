package redisacts

import (
	_ "embed"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

//go:embed common.lua
var commonLua string

//go:embed reserve.lua
var reserveLua string

//go:embed take.lua
var takeLua string

//go:embed learn.lua
var learnLua string

//go:embed look.lua
var lookLua string

//go:embed find.lua
var findLua string

//go:embed audit.lua
var auditLua string

//go:embed refuse.lua
var refuseLua string

// scripts are the rules of this package. Looking also works on nodes that are
// sealed for a change of the list.
type scripts struct {
	reserve, take, learn *nodes.Script
	look, find, audit    *nodes.Script
	refuse               *nodes.Script
}

func newScripts() scripts {
	script := func(name, src string) *nodes.Script { return nodes.NewScript(name, commonLua+src) }
	return scripts{
		reserve: script("reserve", reserveLua),
		take:    script("take", takeLua),
		learn:   script("learn", learnLua),
		refuse:  script("refuse", refuseLua),
		look:    script("look", lookLua).AcceptSealed(),
		find:    script("find", findLua).AcceptSealed(),
		audit:   script("audit", auditLua).AcceptSealed(),
	}
}
