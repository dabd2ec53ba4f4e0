package config

// A choice is a string with a closed list of values, which decoding and the JSON schema use.
// The policies of package scheduler are choices, too.
type choice interface{ Values() []string }

// LogLevel is the least level that is logged: debug, info, warn or error.
type LogLevel string

// Values implements choice.
func (LogLevel) Values() []string { return []string{"info", "debug", "warn", "error"} }

// LogFormat is the form of a log line: text or json.
type LogFormat string

// Values implements choice.
func (LogFormat) Values() []string { return []string{"text", "json"} }

// Gap says what happens to a tick at a time that the clock jumps over:
// run_after or skip.
type Gap string

// Values implements choice.
func (Gap) Values() []string { return []string{"run_after", "skip"} }

// RepeatedDST says when a tick runs at a time that the clock shows twice:
// first or both.
type RepeatedDST string

// Values implements choice.
func (RepeatedDST) Values() []string { return []string{"first", "both"} }

// AnonymousReaders says who may read over HTTP without being a user: loopback, all
// or none.
type AnonymousReaders string

// Values implements choice.
func (AnonymousReaders) Values() []string { return []string{"loopback", "all", "none"} }

// UserRole is what a user may do: viewer, operator or admin.
type UserRole string

// Values implements choice.
func (UserRole) Values() []string { return []string{"viewer", "operator", "admin"} }

// ProxyRole is what a user may do whom only a proxy knows: none, viewer, operator or
// admin.
type ProxyRole string

// Values implements choice.
func (ProxyRole) Values() []string { return []string{"none", "viewer", "operator", "admin"} }
