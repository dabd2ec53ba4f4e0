package nodes

import _ "embed"

//go:embed peek.lua
var peekLua string

//go:embed format.lua
var formatLua string

//go:embed init.lua
var initLua string

//go:embed seal.lua
var sealLua string

//go:embed open.lua
var openLua string

// rules are the scripts of membership.
type rules struct{ peek, format, init, seal, open *Script }

func newRules() rules {
	return rules{
		peek:   newScript("peek", headLua+preludeLua+peekLua),
		format: newScript("format", headLua+formatLua),
		init:   NewScript("init", initLua),
		seal:   NewScript("seal", sealLua).AcceptSealed(),
		open:   newScript("open", headLua+openLua),
	}
}
