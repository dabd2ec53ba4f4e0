package config

import "github.com/quorate/quorate/scheduler"

// A choice is a string with a closed list of values. Decoding and the JSON schema take the
// list from here.
type choice interface{ choices() []string }

// LogLevel is the least level that is logged: debug, info, warn or error.
type LogLevel string

func (LogLevel) choices() []string { return []string{"info", "debug", "warn", "error"} }

// LogFormat is the form of a log line: text or json.
type LogFormat string

func (LogFormat) choices() []string { return []string{"text", "json"} }

// Gap says what happens to a tick at a time that the clock jumps over:
// run_after or skip.
type Gap string

func (Gap) choices() []string { return []string{"run_after", "skip"} }

// RepeatedDST says when a tick runs at a time that the clock shows twice:
// first or both.
type RepeatedDST string

func (RepeatedDST) choices() []string { return []string{"first", "both"} }

// Overlap says what becomes of a tick while an earlier run of its job goes on:
// skip, queue, cancel_previous or allow.
type Overlap string

func (Overlap) choices() []string { return scheduler.OverlapSkip.Values() }

// CatchUp says which ticks that nobody could run are run later: none, last or
// all.
type CatchUp string

func (CatchUp) choices() []string { return scheduler.CatchUpNone.Values() }

// OnCrash says what becomes of a run whose replica died: skip or rerun.
type OnCrash string

func (OnCrash) choices() []string { return scheduler.CrashSkip.Values() }

// AnonymousReaders says who may read over HTTP without being a user: loopback, all
// or none.
type AnonymousReaders string

func (AnonymousReaders) choices() []string { return []string{"loopback", "all", "none"} }

// UserRole is what a user may do: viewer, operator or admin.
type UserRole string

func (UserRole) choices() []string { return []string{"viewer", "operator", "admin"} }

// ProxyRole is what a user may do whom only a proxy knows: none, viewer, operator or
// admin.
type ProxyRole string

func (ProxyRole) choices() []string { return []string{"none", "viewer", "operator", "admin"} }
