// Package redisacts keeps the acts of package scheduler on the nodes that vote:
// triggers, backfills, cancels, pauses, and the audit log.
//
// Each node has three keys: ns:acts, a hash with a register for each open request
// and each target that was paused, and two bounded logs: ns:audit of acts, and
// ns:refused of those that were refused. Every act is written into hash and log by
// one script. What a quorum took is in what every quorum says later.
//
// # IDs
//
// Nodes keep the fingerprint of an act beside its ID, if they know none for that
// ID: that is the first thing that is asked of them. An act goes on only where a
// quorum keeps its own fingerprint, so no two acts have one ID. Requests are kept
// with theirs; the IDs of pauses and resumes for a day, the latest 200.
//
// # Pauses
//
// Of a target's pauses and resumes the one with the latest instant counts, on a
// node and where nodes differ. A new one takes an instant after all that a
// quorum has seen. Resumes are kept for 90 days, the latest 200: a node that was
// away for longer could bring a pause back. A resume of what no node knows to be
// paused is in the audit log only.
//
// # Requests, and their order
//
// The instant of a request is its order key in the job's stream of triggers or of
// backfills. Streams are claimed in order, so a request that is overtaken by a
// later one can never run. Hence a request is made in two rounds:
//
//	reserve   an instant after all that the node has reserved or taken in this
//	          line of requests; again, until a quorum has reserved the same one
//	take      the request is open; a node refuses one that was not reserved there,
//	          or not in time, once it has seen a later one
//
// and read with two rules: a request is shown when a quorum of the nodes that
// answered holds it, and not before every earlier instant that is reserved there
// has been taken or has lapsed. Suppose request T was acknowledged, and a reader
// shows a later U without T. Some node took T and is among those the reader asked.
// It took T after it had answered, or the reader would have seen it. If T's
// instant was reserved there by then, the reader waited. If it was reserved
// later, it lies after U, which the node had; if it was not reserved, the node
// refused T because of U. So no U goes before T.
//
// What is not acknowledged may be done or not: the reservation has lapsed on some
// nodes, others may have taken the request. A node never changes the instant of a
// request, so two of them never have a quorum: it runs once at most, by the claim.
//
// # Reading
//
// A replica asks every node each second, which costs nothing while nothing has
// changed: nodes answer with a version that grows with every change. Nodes that
// lack what others know are told. A node that may have lost its memory does not
// count towards the quorum of a reading for one grace, like in votes.
//
// A cluster that is moved to another list of nodes takes along what the nodes in
// both lists know: have a quorum of the new list among them, or pause again.
package redisacts
