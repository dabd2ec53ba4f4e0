package redlock

import (
	_ "embed"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

//go:embed shares.lua
var sharesLua string

//go:embed claim.lua
var claimLua string

//go:embed standing.lua
var standingLua string

//go:embed vote.lua
var voteLua string

//go:embed acquire.lua
var acquireLua string

//go:embed commit.lua
var commitLua string

//go:embed look.lua
var lookLua string

//go:embed extend.lua
var extendLua string

//go:embed finish.lua
var finishLua string

//go:embed abort.lua
var abortLua string

//go:embed void.lua
var voidLua string

//go:embed evict.lua
var evictLua string

//go:embed forget.lua
var forgetLua string

//go:embed names.lua
var namesLua string

//go:embed holding.lua
var holdingLua string

// The rules of a node, N2 to N6, and N9.
var (
	acquireScript = nodes.NewScript("acquire", acquireLua, sharesLua, claimLua, standingLua, voteLua).Batched()
	commitScript  = nodes.NewScript("commit", commitLua, sharesLua, claimLua, standingLua, voteLua).Batched()
	extendScript  = nodes.NewScript("extend", extendLua, sharesLua, claimLua, standingLua).Batched()
	finishScript  = nodes.NewScript("finish", finishLua, sharesLua, claimLua).AcceptSealed().Batched()
	abortScript   = nodes.NewScript("abort", abortLua, sharesLua, claimLua).Batched()
	voidScript    = nodes.NewScript("void", voidLua, sharesLua, claimLua, standingLua).Batched()
	lookScript    = nodes.NewScript("look", lookLua, sharesLua, claimLua, standingLua, voteLua).Batched()
)

// What operators do: N6 EVICT, N8 FORGET, and looking.
var (
	evictScript   = nodes.NewScript("evict", evictLua, sharesLua)
	forgetScript  = nodes.NewScript("forget", forgetLua, sharesLua)
	namesScript   = nodes.NewScript("names", namesLua).AcceptSealed()
	holdingScript = nodes.NewScript("holding", holdingLua, sharesLua).AcceptSealed()
)
