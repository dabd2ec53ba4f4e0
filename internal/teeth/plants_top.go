package main

const (
	cmdPkg = "./cmd"
	topDir = "cmd/top_"
)

// topPlants are in the live view of the terminal.
var topPlants = []plant{
	{
		name: "top: the terminal stays raw", promise: "The live view leaves the terminal as it was.",
		edits: []edit{{topDir + "screen.go", "err = errors.Join(err, term.Restore(int(s.in.Fd()), s.saved))", "err = errors.Join(err)"}},
		pkg:   cmdPkg, tests: []string{"TestTopCrash"},
	},
	{
		name: "top: a bug while reading is not told", promise: "The live view ends with a bug that it meets, and leaves the terminal as it was.",
		edits: []edit{{topDir + "read.go", "err = &crash{what, debug.Stack()}", "_ = &crash{what, debug.Stack()}"}},
		pkg:   cmdPkg, tests: []string{"TestTopCrash"},
	},
	{
		name: "top: what is old looks new", promise: "Without a quorum the live view says how old that is which it shows.",
		edits: []edit{{topDir + "words.go", "lines = append(lines, d.unknown(v)...)", "_ = d.unknown"}},
		pkg:   cmdPkg, tests: []string{"TestTopFrames"},
	},
	{
		name: "top: escape codes of others", promise: "What a job or a replica says does nothing to the terminal.",
		edits: []edit{{"cmd/output.go", "if unicode.IsPrint(r) {", "if unicode.IsPrint(r) || r > 0 {"}},
		pkg:   cmdPkg, tests: []string{"TestTopPassesNothingOn"},
	},
	{
		name: "top: a line too many", promise: "A frame fits its terminal.",
		edits: []edit{{topDir + "frame.go", "lines = lines[:min(len(lines), v.height)]", "lines = lines[:min(len(lines), v.height+1)]"}},
		pkg:   cmdPkg, tests: []string{"TestTopFrames"},
	},
}
