package scripts

import (
	"embed"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/records"
)

//go:embed *.lua
var files embed.FS

// lua returns the text of the file with that name.
func lua(name string) string {
	text, _ := files.ReadFile(name + ".lua") // a test runs each script
	return string(text)
}

// The rules about a try, N2 to N6 and N10. Their keys are those of [Keys]; each file
// lists its arguments. LOOK is LOCK without a v.
var (
	Lock   = about("lock", lua("lock")+lua("refuse"))
	Look   = about("look", lua("lock")+lua("refuse"))
	Commit = about("commit", lua("commit")+lua("refuse"), records.TrimLua).Copied()
	Extend = about("extend", lua("extend")+lua("refuse")).Copied()
	Finish = about("finish", lua("finish")+lua("refuse"), records.TrimLua).AcceptSealed().Copied()
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
