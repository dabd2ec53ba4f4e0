package acts

import (
	_ "embed"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

//go:embed common.lua
var commonLua string

//go:embed sweep.lua
var sweepLua string

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

// scripts are the rules of this package. Reads also work on nodes that are sealed for a
// change of the list.
type scripts struct {
	reserve, take, learn *membership.Script
	look, find, audit    *membership.Script
	refuse               *membership.Script
}

func newScripts() scripts {
	script := func(name, src string) *membership.Script { return membership.NewScript(name, commonLua+src) }
	return scripts{
		reserve: script("reserve", sweepLua+reserveLua),
		take:    script("take", takeLua),
		learn:   script("learn", learnLua),
		refuse:  script("refuse", refuseLua),
		look:    script("look", lookLua).AcceptSealed(),
		find:    script("find", findLua).AcceptSealed(),
		audit:   script("audit", auditLua).AcceptSealed(),
	}
}
