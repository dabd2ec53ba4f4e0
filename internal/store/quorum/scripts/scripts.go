// Package scripts holds the claim protocol's Lua, one file per rule, as package protocol
// has one Go function per rule. A differential test compares both. The files have the
// names and numbers of locking/redlock/PROTOCOL.md. The package also names the keys of
// a request, and has the stored forms of a claim and of a tick's outcome: claims write
// them (package redlock), and the ledger reads them.
package scripts

import (
	"embed"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

//go:embed *.lua
var files embed.FS

func lua(name string) string { return membership.Lua(files, name) }

// The rules about a try, N2 to N6 and N10. Their keys are those of [Keys]; each file
// lists its arguments. LOOK is LOCK without a v.
var (
	Lock   = about("lock", lua("lock")+lua("refuse"))
	Look   = about("look", lua("lock")+lua("refuse"))
	Commit = about("commit", lua("commit")+lua("refuse"), TrimLua).Copied()
	Extend = about("extend", lua("extend")+lua("refuse")).Copied()
	Finish = about("finish", lua("finish")+lua("refuse"), TrimLua).AcceptSealed().Copied()
	Void   = about("void", lua("void"))
)

// Operators' requests: N6 EVICT, N8 FORGET, and reads.
var (
	Evict   = membership.NewScript("evict", lua("evict"))
	Forget  = membership.NewScript("forget", lua("forget"))
	Names   = membership.NewScript("names", lua("names")).AcceptSealed()
	Holding = membership.NewScript("holding", lua("holding")).AcceptSealed()
)

// about returns the script of a rule about a try. First begin.lua reads the stored
// state; at the end refuse.lua replies with the claim that blocks the try.
func about(name, rule string, common ...string) *membership.Script {
	return membership.NewScript(name, lua("begin")+rule, common...)
}

// Keys returns the keys of a request of v for a name: lock, blocker, marker, fence,
// claim, tombstone and runs. If runs may overlap, the lock is the tick's and the
// blocker the job's lock. Otherwise the lock is the job's and the blocker the marker.
func Keys(set *membership.Set, name, stream string, tick time.Time, overlaps bool, v string) []string {
	lock, marker := set.JobKey(name, "lock"), set.JobKey(name, "beside")
	blocker := marker
	if overlaps {
		lock, blocker = TickLock(set, name, stream, tick), lock
	}
	return []string{
		lock, blocker, marker, set.JobKey(name, "fence"), ClaimKey(set, name, stream), set.Key("dead", v), set.JobKey(name, "runs"),
	}
}

// TickLock returns the key of the lock of a tick whose runs may overlap others.
func TickLock(set *membership.Set, name, stream string, tick time.Time) string {
	return set.JobKey(name, "lock:"+stream+":"+strconv.FormatInt(tick.UnixMilli(), 10))
}

// ClaimKey returns the key of the claim of a stream.
func ClaimKey(set *membership.Set, name, stream string) string {
	return set.JobKey(name, "claim."+stream)
}

// ForgetKeys returns the keys of FORGET.
func ForgetKeys(set *membership.Set, name string) []string {
	var keys []string
	for _, what := range []string{"fence", "lock", "beside", "runs", "notes", "logs"} {
		keys = append(keys, set.JobKey(name, what))
	}
	return keys
}

// HoldingKeys returns the keys of HOLDING: for each name lock, marker, fence and runs.
func HoldingKeys(set *membership.Set, names ...string) []string {
	var keys []string
	for _, name := range names {
		for _, what := range []string{"lock", "beside", "fence", "runs"} {
			keys = append(keys, set.JobKey(name, what))
		}
	}
	return keys
}
