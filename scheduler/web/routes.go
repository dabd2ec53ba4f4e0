package web

import (
	"context"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A route is one thing that can be asked for. The table of them is what serves the
// API and what describes it.
type route struct {
	method, path string // below prefix
	about        string // in one line
	role         Role
	kind         scheduler.ActKind // that it asks for, "" if none
	query        []param
	body         any // of the type of its body; nil: none
	reply        any // of the type of its answer
	status       int
	answer       func(ctx context.Context, c *call) (any, error)

	bodySchema *jsonschema.Schema
}

// Parameters that several routes have.
func limitParam() param {
	return integer("limit", "at most so many rows", 1, 1000, 100)
}

func selecting() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "where to go on: next of an earlier answer", schema: short(1000)},
		{name: "since", about: "only ticks from this time on", schema: timeSchema()},
		{name: "until", about: "only ticks before this time", schema: timeSchema()},
		{name: "outcome", about: "only these outcomes", list: true, schema: listOf(enumOf(outcomes()))},
		{name: "trigger", about: "only these triggers", list: true, schema: listOf(enumOf(triggers()))},
		{name: "reason", about: "only with a reason of these codes", list: true, schema: listOf(enumOf(codes()))},
	}
}

func auditing() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "where to go on: next of an earlier answer", schema: short(200)},
		{name: "since", about: "only what was asked for from this time on", schema: timeSchema()},
		{name: "by", about: "only of those whose name or address has this text", schema: short(200)},
		{name: "job", about: "only about the job with this key, or the tag", schema: short(200)},
		{name: "act", about: "only these acts", list: true, schema: listOf(enumOf(acts()))},
		{name: "refused", about: "yes: only what was refused; no: only the rest", schema: enumOf([]any{"yes", "no"})},
	}
}

// routes lists everything that can be asked for.
func routes() []route {
	list := []route{
		{path: "/jobs", about: "Jobs the replicas serve, a row for each version, and how each fared last.", query: []param{
			limitParam(),
			{name: "cursor", about: "where to go on: next of an earlier answer", schema: short(200)},
			{name: "q", about: "only jobs whose name, tags or description have this text", schema: short(200)},
		}, reply: page[listing.Job]{}, answer: answerJobs},
		{path: "/jobs/{job}", about: "One job: its versions, its next ticks, and what was asked of it.", reply: jobDetail{}, answer: answerJob},
		{path: "/jobs/{job}/ticks", about: "What became of each tick of a job, newest first, those that nobody could record included.", query: selecting(), reply: page[listing.Tick]{}, answer: answerTicksOf},
		{path: "/jobs/{job}/runs", about: "Runs of a job, newest first, one row for each attempt.", query: selecting(), reply: page[listing.Run]{}, answer: answerRunsOf},
		{path: "/ticks", about: "What became of the latest ticks of all jobs. With filters, a page may have few rows and still have a next one.", query: selecting(), reply: page[listing.Tick]{}, answer: answerTicks},
		{path: "/runs", about: "The latest runs of all jobs, one row for each attempt. With filters, a page may have few rows and still have a next one.", query: selecting(), reply: page[listing.Run]{}, answer: answerRuns},
		{path: "/runs/{run}", about: "One run: its attempts, the last one first, with what each node said and how the lease was extended.", reply: page[listing.Tick]{}, answer: answerRun},
		{path: "/runs/{run}/log", about: "What a run has logged; of one that goes on up to as_of.", query: []param{
			integer("attempt", "which of several; 0: the last", 0, 1_000_000, 0),
		}, reply: listing.Log{}, answer: answerLog},
		{path: "/next", about: "Ticks to come, soonest first, of the jobs that are served.", query: []param{
			limitParam(),
			{name: "job", about: "only of this one", schema: short(200)},
			{name: "from", about: "only ticks that start after this time; default: now", schema: timeSchema()},
		}, reply: page[listing.Next]{}, answer: answerNext},
		{path: "/replicas", about: "Replicas that were seen lately.", reply: page[listing.Replica]{}, answer: answerReplicas},
		{path: "/nodes", about: "Nodes: who votes, who does not vouch yet, until when and why.", reply: page[listing.Node]{}, answer: answerNodes},
		{path: "/nodes/check", about: "Each node judged, with findings that say what to do. It takes longer than the others.", reply: page[listing.Check]{}, answer: answerChecks},
		{path: "/locks", about: "Who holds which lock, and runs that never said how they ended.", reply: page[listing.Lock]{}, answer: answerLocks},
		{path: "/pauses", about: "Pauses that stand, the oldest first; those of the configuration are in /jobs.", reply: page[listing.Act]{}, answer: answerPauses},
		{path: "/audit", about: "What was asked of the cluster, done and refused, newest first.", query: auditing(), reply: page[listing.Act]{}, answer: answerAudit},
		{path: "/configuration", about: "The configuration in effect on the replica that answers, without secrets, and that of the others by its hash.", reply: configuration{}, answer: answerConfiguration},
		{path: "/configuration/sets/{hash}", about: "What a set of jobs consists of that replicas serve, or served within a day.", reply: jobSet{}, answer: answerJobSet},
		{path: "/configuration/diff", about: "How one set of jobs becomes another: job by job, setting by setting, and as a unified diff.", query: []param{
			{name: "from", about: "config_hash of the one", schema: short(100)},
			{name: "to", about: "config_hash of the other", schema: short(100)},
		}, reply: listing.Comparison{}, answer: answerComparison},
		{path: "/whoami", about: "Who asks, and with which role.", reply: identityRow{}, answer: answerWhoami},
	}
	for i := range list {
		list[i].method, list[i].role, list[i].status = http.MethodGet, Viewer, http.StatusOK
	}
	return append(list, actRoutes()...)
}

// actRoutes lists what can be asked of the whole cluster.
func actRoutes() []route {
	list := []route{
		{path: "/jobs/{job}/trigger", kind: scheduler.ActTrigger, about: "Run a job once, now, on one of the replicas.", body: triggerBody{}, reply: listing.Act{}, answer: askTrigger},
		{path: "/jobs/{job}/backfill", kind: scheduler.ActBackfill, about: "Run a job for each of its ticks in a range of the past; with dry_run only list them.", body: backfillBody{}, reply: planned{}, answer: askBackfill},
		{path: "/jobs/{job}/cancel", kind: scheduler.ActCancel, about: "End the runs of a job that go on, or one of them.", body: cancelBody{}, reply: cancelled{}, answer: askCancel},
		{path: "/jobs/{job}/pause", kind: scheduler.ActPause, about: "Skip the ticks of a job until it is resumed.", body: reasonBody{}, reply: stood{}, answer: askJob(scheduler.ActPause)},
		{path: "/jobs/{job}/resume", kind: scheduler.ActResume, about: "End the pause of a job.", body: reasonBody{}, reply: stood{}, answer: askJob(scheduler.ActResume)},
		{path: "/pause", kind: scheduler.ActPause, about: "Skip the ticks of all jobs with a tag, or of all jobs, until they are resumed.", body: targetBody{}, reply: stood{}, answer: askPause},
		{path: "/resume", kind: scheduler.ActResume, about: "End the pause of a tag, of all jobs, or the one with an id.", body: resumeBody{}, reply: stood{}, answer: askResume},
		{path: "/locks/{job}/release", kind: scheduler.ActRelease, role: Admin, about: "Take a lock away from its holder by force.", body: releaseBody{}, reply: listing.Lock{}, answer: askRelease},
	}
	for i := range list {
		list[i].method, list[i].status = http.MethodPost, http.StatusOK
		if list[i].role == "" {
			list[i].role = Operator
		}
	}
	return list
}
