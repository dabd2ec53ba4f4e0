// Package view has the rows of all listings, a [Reader] that reads them from the
// nodes, and a [Control] that checks and requests acts. The command line, the API and
// the dashboard share it, so they agree.
//
// Rows are a contract: scripts read their JSON. Every field is always present, null if
// it has no value. Golden files pin them.
//
// Reading needs no replica.
//
// The cost of a page depends on its size, not on the length of the history: see
// [Reader.Recent].
package view
