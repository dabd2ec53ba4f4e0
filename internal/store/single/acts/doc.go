// Package acts keeps the acts of package scheduler/acts on a consistent store. All its
// records are acts, of the kind store.Acts, each under several keys:
//
//	act ID           every act
//	audit TIME ID    every act and note, newest first
//	refused TIME ID  a refused act, newest first
//	open ID          an open request
//	line LINE        the latest request of a line of acts
//	pause TARGET     the latest pause or resume of a target
//	places N         the open requests that have some of the places
//	queue ID         a request without an instant, made by an application's transaction
//
// A new act compares the record of its ID, so it is made once. It replaces the latest act of
// its line, and its instant lies after that: so a commit that arrives after a later act of
// the line loses.
//
// A transaction of an application only queues its request. Else it would hold back all
// requests of the line until it ends, or a later one could overtake it. Readers make queued
// requests acts.
//
// One new act in many deletes what is old. A new request takes a place, so requests at the same time do not
// exceed their bound. That of pauses is checked against what was read: competing ones may exceed it.
package acts
