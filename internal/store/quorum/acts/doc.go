// Package acts keeps the acts of package scheduler/acts on the nodes that vote:
// triggers, backfills, cancels, pauses, and the audit log. An act acknowledged by a
// quorum shows in every later reading.
//
// Each node has three keys. The hash ns:acts has a register for each open request and
// each target that was paused. Two bounded logs hold acts (ns:audit) and refused acts
// (ns:refused). One script writes an act into both hash and log.
//
// # IDs
//
// A node stores the fingerprint of an act with its ID, if the ID is new to it. An act
// continues only if a quorum stores its own fingerprint, so no two acts have one ID.
// IDs of requests are kept with the requests; those of pauses and resumes for a day,
// the latest 200.
//
// # Pauses
//
// Of a target's pauses and resumes the one with the latest instant counts, on a node
// and between nodes. A new one takes an instant after all that a quorum has seen.
// Resumes are kept for 90 days, the latest 200: a node that was away for longer could
// bring a pause back. A resume of a target that no node knows as paused is only in the
// audit log.
//
// # Requests, and their order
//
// The instant of a request is its order key in the job's stream of triggers or of
// backfills. Streams are claimed in order, so a request overtaken by a later one can
// never run. Hence a request is made in two rounds:
//
//	reserve   an instant after all that the node has reserved or taken in this
//	          line of requests; repeated until a quorum has reserved the same one
//	take      the request is open; a node that has seen a later one refuses a
//	          request that was not reserved there, or not in time
//
// Each node refuses to reserve beyond its bound of open requests and reservations. A request
// needs a quorum of them only, so requests that compete for the last places may together
// exceed the bound: on three nodes by half of what was left, on more by less than as much again.
//
// Readers follow two rules. A request shows when a quorum of the nodes that answered
// holds it. It does not show before every earlier instant reserved there has been taken
// or has expired.
//
// Suppose request T was acknowledged, and a reader shows a later U without T. Some node
// took T and answered the reader. It took T after its answer, or the reader would have
// seen T. If T's instant was reserved there by then, the reader waited. If it was
// reserved later, it lies after U, which the node had. If it was not reserved, the node
// refused T because of U. So no U overtakes T.
//
// A request without acknowledgement may or may not be done: the reservation has expired
// on some nodes, but others may have taken the request. A node never changes the
// instant of a request, so two instants never both have a quorum. The claim makes it
// run at most once.
//
// # Reading
//
// A replica asks every node each second. That is cheap while nothing changes: nodes
// answer with a version that grows with every change. The reader sends nodes what they
// lack. A node that may have lost its memory does not count toward the quorum of a
// reading for one grace, as with votes.
//
// A change of the list of nodes keeps only what the nodes in both lists know. Keep a
// quorum of the new list among them, or pause again.
package acts
