// Package scripts holds the claim protocol's Lua, one file per rule, as package protocol
// has one Go function per rule. A differential test compares both. The files have the
// names and numbers of locking/redlock/PROTOCOL.md. The package also names the keys of
// a request.
package scripts
