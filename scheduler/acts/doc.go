// Package acts has what people ask of the whole cluster: an [Act] runs a job now or its
// ticks of the past, ends a run, or pauses and resumes jobs. A [Store] keeps the acts that
// are in force and the audit log.
//
// An act is an instruction. The claim of its tick ensures that a request runs once.
package acts
