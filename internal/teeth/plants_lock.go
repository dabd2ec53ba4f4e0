package main

const (
	acquireGo = "locking/acquire.go"
	retryGo   = "locking/acquire.go"
	groupGo   = "locking/group.go"
)

// lockPlants are in the lock as a library of its own: how it is acquired, kept
// and given back, alone and with others.
var lockPlants = []plant{
	{
		name: "lock: half a group is kept", promise: "Of several locks all are held, or none.",
		edits: []edit{{groupGo, "return nil, errors.Join(err, g.giveBack(ctx))", "return nil, err"}},
		pkg:   locking, tests: []string{"TestAcquireAllOrNothing"}, says: "want [\"acquire a\" \"acquire b\" \"void b\" \"void a\"]",
	},
}
