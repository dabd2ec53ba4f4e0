package kv

import "context"

// A Server is a Store with what operators need: a name, a check, Close.
type Server interface {
	Store
	// Name tells people which server it is, without secrets.
	Name() string
	// Check judges the server and its settings. Errors are those of Read.
	Check(ctx context.Context) (Checkup, error)
	// Close closes the connections. No call may follow.
	Close()
}

// A Checkup is the result of Check.
type Checkup struct {
	Version  string
	Findings []Finding
}

// A Finding is a setting that may cost ticks or memory. Text says what to do.
type Finding struct {
	Topic string
	Mend  bool // it must be fixed; false: for information
	Text  string
}
