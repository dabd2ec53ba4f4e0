// Package cells makes one cluster of several: each cell is a group of nodes that
// decides on some of the jobs, so that the load of very many jobs divides.
//
// A job belongs to the cell that its key and the names of the cells give the
// highest random weight ([Layout]). All replicas with the same names of cells
// compute the same, which is why the nodes compare them; a further cell takes
// jobs from all others, and no job moves between those. The key of a job is what
// it was called first, so renaming it moves nothing. A group's slots live in the
// cell of the group's name.
//
// [Locker], [Ledger], [Roster] and [Acts] are over those of the cells: what
// concerns one job goes to its cell; what concerns all is asked of every cell and
// put together. A cell without a quorum stops its own jobs and nothing else: what
// the others say comes with a [scheduler.PartialError] that tells what is lacking.
//
//	claims, ledger, logs  in the cell of the job
//	heartbeats            in every cell; who is in one of them lives
//	published jobs        in the cell of the job
//	requests, pauses      of a job: in its cell
//	pauses of tags, all   in every cell, and each covers the cell's own jobs: one
//	                      that could not be told pauses nothing, and says so
//
// The acts that are open are bounded per cell, and so is the audit log.
package cells
