package redisledger

import (
	_ "embed"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

//go:embed record.lua
var recordLua string

//go:embed read.lua
var readLua string

//go:embed store.lua
var storeLua string

//go:embed log.lua
var logLua string

//go:embed announce.lua
var announceLua string

//go:embed leave.lua
var leaveLua string

//go:embed publish.lua
var publishLua string

//go:embed published.lua
var publishedLua string

//go:embed keep_set.lua
var keepSetLua string

//go:embed read_set.lua
var readSetLua string

// scripts are the rules of this package. Looking also works on nodes that are
// sealed for a change of the list.
type scripts struct {
	record, read          *nodes.Script
	store, log            *nodes.Script
	announce, look, leave *nodes.Script
	publish, published    *nodes.Script
	keepSet, readSet      *nodes.Script
}

func newScripts() scripts {
	announce := nodes.NewScript("announce", announceLua)
	return scripts{
		record:   nodes.NewScript("record", recordLua),
		read:     nodes.NewScript("read", readLua).AcceptSealed(),
		store:    nodes.NewScript("store", storeLua).AcceptSealed(),
		log:      nodes.NewScript("log", logLua).AcceptSealed(),
		announce: announce,
		look:     announce.AcceptSealed(),
		leave:    nodes.NewScript("leave", leaveLua).AcceptSealed(),

		publish:   nodes.NewScript("publish", publishLua),
		published: nodes.NewScript("published", publishedLua).AcceptSealed(),

		keepSet: nodes.NewScript("keep-set", keepSetLua),
		readSet: nodes.NewScript("read-set", readSetLua).AcceptSealed(),
	}
}
