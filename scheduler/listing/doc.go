// Package listing is what people see of a cluster, whoever shows it: the rows of
// all listings with their names in JSON, a [Reader] that reads them from what the
// nodes keep, and a [Control] that asks for acts with the checks that go before
// them. The command line, the API and the dashboard are made of it, so that they
// say the same.
//
// Rows are a contract: others' scripts read their fields. Every field is always
// there, null where there is nothing to say, and golden files pin them.
//
// Reading needs no replica. Where some cells do not answer, a method returns what
// the others say together with a *scheduler.PartialError.
//
// A Reader reads as much as its answer needs, not as much as there is: of a
// thousand jobs with a long history, the latest runs cost one short read of each
// job, a few at once, and longer ones of those jobs only that have more than one
// of them (see [Reader.Recent]).
package listing
