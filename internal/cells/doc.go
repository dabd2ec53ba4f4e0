// Package cells combines several clusters into one. Each cell is a group of nodes that
// decides on some of the jobs, so the load of very many jobs is divided.
//
// A job belongs to the cell with the highest random weight for its key and the cell's
// name ([Layout]). All replicas with the same names of cells compute the same cell, so
// the nodes compare these names. A new cell takes jobs from all others, but no job
// moves between those. The key of a job is its original name, so renaming moves
// nothing. A group's slots are in the cell of the group's name.
//
// [Locker], [Ledger], [Roster] and [Acts] combine those of the cells. Requests for one
// job go to its cell; requests for all jobs go to every cell, and the answers are
// merged. A cell without a quorum stops only its own jobs: the answers of the others
// come with a [ledger.PartialError] that says what is missing.
//
//	claims, ledger, logs  in the cell of the job
//	heartbeats            in every cell; a replica is alive if one cell has seen it
//	published jobs        in the cell of the job
//	requests, pauses      of a job: in its cell
//	pauses of tags, all   in every cell, and each covers the cell's own jobs: a cell
//	                      that could not be reached pauses nothing, and the error says so
//
// The limits of open acts and of the audit log are per cell.
package cells
