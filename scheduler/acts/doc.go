// Package acts says what people ask of the whole cluster: an [Act] runs a job now or its
// ticks of the past, ends a run, or pauses and resumes jobs. A [Store] keeps the acts that
// are in force and the audit log.
//
// An act says what is to be tried. That a request runs once is the claim of its tick.
package acts
