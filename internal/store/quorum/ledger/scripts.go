package ledger

import (
	_ "embed"

	"github.com/quorate/quorate/internal/store/quorum/members"
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
	record, read          *members.Script
	store, log            *members.Script
	announce, look, leave *members.Script
	publish, published    *members.Script
	keepSet, readSet      *members.Script
}

func newScripts() scripts {
	announce := members.NewScript("announce", announceLua)
	return scripts{
		record:   members.NewScript("record", recordLua, records.TrimLua),
		read:     members.NewScript("read", readLua).AcceptSealed(),
		store:    members.NewScript("store", storeLua, records.TrimLua).AcceptSealed(),
		log:      members.NewScript("log", logLua).AcceptSealed(),
		announce: announce,
		look:     announce.AcceptSealed(),
		leave:    members.NewScript("leave", leaveLua).AcceptSealed(),

		publish:   members.NewScript("publish", publishLua),
		published: members.NewScript("published", publishedLua).AcceptSealed(),

		keepSet: members.NewScript("keep-set", keepSetLua),
		readSet: members.NewScript("read-set", readSetLua).AcceptSealed(),
	}
}
