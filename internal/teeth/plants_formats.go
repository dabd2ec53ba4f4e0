package main

// formatPlants are in what releases read of one another.
var formatPlants = []plant{
	{
		name: "formats: note without a version", promise: "Stored formats carry a version number.",
		edits: []edit{{"scheduler/note.go", "V: noteVersion, Tick:", "Tick:"}},
		pkg:   "./cmd", tests: []string{"TestStoredFormats"}, says: "is stored as",
	},
	{
		name: "formats: record renames a field", promise: "A release reads what the one before has stored.",
		edits: []edit{{"locking/redlock/nodes/record.go", "`json:\"o,omitempty\"`", "`json:\"owner,omitempty\"`"}},
		pkg:   "./cmd", tests: []string{"TestStoredFormats"}, says: "is stored as",
	},
}
