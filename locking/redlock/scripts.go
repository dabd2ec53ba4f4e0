package redlock

import (
	_ "embed"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

//go:embed claim.lua
var claimLua string

//go:embed acquire.lua
var acquireLua string

//go:embed commit.lua
var commitLua string

//go:embed extend.lua
var extendLua string

//go:embed finish.lua
var finishLua string

//go:embed abort.lua
var abortLua string

//go:embed void.lua
var voidLua string

// The rules of a node, N2 to N6.
var (
	acquireScript = nodes.NewScript("acquire", claimLua+acquireLua)
	commitScript  = nodes.NewScript("commit", claimLua+commitLua)
	extendScript  = nodes.NewScript("extend", claimLua+extendLua)
	finishScript  = nodes.NewScript("finish", claimLua+finishLua).AcceptSealed()
	abortScript   = nodes.NewScript("abort", claimLua+abortLua)
	voidScript    = nodes.NewScript("void", claimLua+voidLua)
)
