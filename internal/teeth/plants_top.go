package main

const (
	cmdPkg = "./cmd"
	topPkg = "./cmd/internal/top"
	topDir = "cmd/internal/top/"
)

// topPlants are in the live view of the terminal.
var topPlants = []plant{
	{
		name: "top: escape codes of others", promise: "What a job or a replica says does nothing to the terminal.",
		edits: []edit{{"cmd/internal/output/output.go", "if unicode.IsPrint(r) {", "if unicode.IsPrint(r) || r > 0 {"}},
		pkg:   topPkg, tests: []string{"TestTopPassesNothingOn"},
	},
}
