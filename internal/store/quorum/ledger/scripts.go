package ledger

import (
	_ "embed"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/records"
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

// scripts are the rules of this package. Reads also work on nodes that are sealed for a
// change of the list.
type scripts struct {
	record, read          *membership.Script
	store, log            *membership.Script
	announce, look, leave *membership.Script
	publish, published    *membership.Script
	keepSet, readSet      *membership.Script
}

func newScripts() scripts {
	announce := membership.NewScript("announce", announceLua)
	return scripts{
		record:   membership.NewScript("record", recordLua, records.TrimLua),
		read:     membership.NewScript("read", readLua).AcceptSealed(),
		store:    membership.NewScript("store", storeLua, records.TrimLua).AcceptSealed(),
		log:      membership.NewScript("log", logLua).AcceptSealed(),
		announce: announce,
		look:     announce.AcceptSealed(),
		leave:    membership.NewScript("leave", leaveLua).AcceptSealed(),

		publish:   membership.NewScript("publish", publishLua),
		published: membership.NewScript("published", publishedLua).AcceptSealed(),

		keepSet: membership.NewScript("keep-set", keepSetLua),
		readSet: membership.NewScript("read-set", readSetLua).AcceptSealed(),
	}
}
