package api

import (
	"context"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A route is one operation of the API. The table of routes serves the API and describes it.
type route struct {
	method, path string // below Prefix
	about        string // in one line
	role         identity.Role
	kind         acts.Kind // of an act, else ""
	query        []param
	body         any // a value of the body's type, or nil
	reply        any // a value of the answer's type
	status       int
	answer       func(ctx context.Context, c *call) (any, error)

	bodySchema *jsonschema.Schema
}

// Parameters of several routes.
func limitParam() param {
	return integer("limit", "Number of rows at most.", 1, 1000, 100)
}

func selecting() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "The next of the page before.", schema: short(1000)},
		{name: "since", about: "Only ticks from this time on.", schema: timeSchema()},
		{name: "until", about: "Only ticks before this time.", schema: timeSchema()},
		{name: "outcome", about: "Only these outcomes.", list: true, schema: listOf(enum(ledger.Outcomes()...))},
		{name: "trigger", about: "Only these triggers.", list: true, schema: listOf(enum(ledger.Triggers()...))},
		{name: "reason", about: "Only these reason codes.", list: true, schema: listOf(enum(ledger.Codes()...))},
	}
}

func auditing() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "The next of the page before.", schema: short(200)},
		{name: "since", about: "Only acts from this time on.", schema: timeSchema()},
		{name: "by", about: "Only acts whose author's name or address contains this text.", schema: short(200)},
		{name: "job", about: "Only acts on the job with this key, or on the tag.", schema: short(200)},
		{name: "act", about: "Only these acts.", list: true, schema: listOf(enum(acts.Kinds()...))},
		{name: "refused", about: "yes: only refused acts; no: only the others.", schema: enum("yes", "no")},
	}
}

// routes lists all routes.
func routes() []route {
	list := []route{
		{path: "/jobs", about: "Jobs that the replicas serve, a row for each version, with its last tick.", query: []param{
			limitParam(),
			{name: "cursor", about: "The next of the page before.", schema: short(200)},
			{name: "q", about: "Only jobs whose name, tags or description contain this text.", schema: short(200)},
		}, reply: Page[view.Job]{}, answer: answerJobs},
		{path: "/jobs/{job}", about: "One job: its versions, next ticks, pauses and pending requests.", reply: JobDetail{}, answer: answerJob},
		{path: "/jobs/{job}/ticks", about: "Ticks of a job with their outcomes, newest first, including computed ones that no replica recorded.", query: selecting(), reply: Page[view.Tick]{}, answer: entriesOf(true, view.NewTick)},
		{path: "/jobs/{job}/runs", about: "Runs of a job, newest first, one row for each attempt.", query: selecting(), reply: Page[view.Run]{}, answer: entriesOf(false, view.NewRun)},
		{path: "/ticks", about: "The latest ticks of all jobs with their outcomes. With filters, a page may have few rows and still a next page.", query: selecting(), reply: Page[view.Tick]{}, answer: entriesOf(true, view.NewTick)},
		{path: "/runs", about: "The latest runs of all jobs, one row for each attempt. With filters, a page may have few rows and still a next page.", query: selecting(), reply: Page[view.Run]{}, answer: entriesOf(false, view.NewRun)},
		{path: "/runs/{run}", about: "One run: its attempts, newest first, with the nodes' answers and the extensions of the lease.", reply: Page[view.Tick]{}, answer: answerRun},
		{path: "/runs/{run}/log", about: "The log of a run; of a running one up to as_of.", query: []param{
			integer("attempt", "Number of the attempt; 0: the last.", 0, 1_000_000, 0),
		}, reply: view.Log{}, answer: answerLog},
		{path: "/next", about: "Next ticks of the served jobs, soonest first.", query: []param{
			limitParam(),
			{name: "job", about: "Only of this job.", schema: short(200)},
			{name: "from", about: "Only ticks that start after this time; default: now.", schema: timeSchema()},
		}, reply: Page[view.Next]{}, answer: answerNext},
		{path: "/replicas", about: "Replicas that were seen lately, and those that were lost in the last 24 hours.", reply: Page[view.Replica]{}, answer: answerReplicas},
		{path: "/nodes", about: "Nodes: which vote, and why and until when the others do not.", reply: Page[view.Node]{}, answer: answerNodes},
		{path: "/nodes/check", about: "A check of each node, with findings that say what to do. Takes longer than other routes.", reply: Page[view.Check]{}, answer: answerChecks},
		{path: "/locks", about: "Held locks, and runs that never reported their end.", reply: Page[view.Lock]{}, answer: answerLocks},
		{path: "/pauses", about: "Pauses in force, oldest first; /jobs has those of the configuration.", reply: Page[view.Act]{}, answer: answerPauses},
		{path: "/audit", about: "Acts on the cluster, done and refused, newest first.", query: auditing(), reply: Page[view.Act]{}, answer: answerAudit},
		{path: "/configuration", about: "The configuration of the serving replica, without secrets, and the hashes of the others.", reply: Configuration{}, answer: answerConfiguration},
		{path: "/configuration/sets/{hash}", about: "A set of jobs that replicas serve, or served within a day.", reply: JobSet{}, answer: answerJobSet},
		{path: "/configuration/diff", about: "The differences between two sets of jobs, by job and setting.", query: []param{
			{name: "from", about: "The config_hash of the old set.", schema: short(100)},
			{name: "to", about: "The config_hash of the new set.", schema: short(100)},
		}, reply: view.Comparison{}, answer: answerComparison},
		{path: "/whoami", about: "The user of the request, and the role.", reply: identityRow{}, answer: answerWhoami},
	}
	for i := range list {
		list[i].method, list[i].role, list[i].status = http.MethodGet, identity.Viewer, http.StatusOK
	}
	return append(list, actRoutes()...)
}

// actRoutes lists the routes of acts.
func actRoutes() []route {
	list := []route{
		{path: "/jobs/{job}/trigger", kind: acts.Trigger, about: "Run a job once, now, on one of the replicas.", body: triggerBody{}, reply: view.Act{}, answer: askTrigger},
		{path: "/jobs/{job}/backfill", kind: acts.Backfill, about: "Run a job for each of its ticks in a past range of time; with dry_run only list them.", body: backfillBody{}, reply: Planned{}, answer: askBackfill},
		{path: "/jobs/{job}/cancel", kind: acts.Cancel, about: "Cancel the running runs of a job, or one of them.", body: cancelBody{}, reply: cancelled{}, answer: askCancel},
		{path: "/jobs/{job}/pause", kind: acts.Pause, about: "Skip the ticks of a job until it is resumed.", body: reasonBody{}, reply: pauseResult{}, answer: askJob(acts.Pause)},
		{path: "/jobs/{job}/resume", kind: acts.Resume, about: "End the pause of a job.", body: reasonBody{}, reply: pauseResult{}, answer: askJob(acts.Resume)},
		{path: "/pause", kind: acts.Pause, about: "Skip the ticks of all jobs with a tag, or of all jobs, until they are resumed.", body: targetBody{}, reply: pauseResult{}, answer: askPause},
		{path: "/resume", kind: acts.Resume, about: "End the pause of a tag, of all jobs, or the one with an ID.", body: resumeBody{}, reply: pauseResult{}, answer: askResume},
		{path: "/locks/{job}/release", kind: acts.Release, role: identity.Admin, about: "Take a lock from its holder by force.", body: releaseBody{}, reply: view.Lock{}, answer: askRelease},
	}
	for i := range list {
		list[i].method, list[i].status = http.MethodPost, http.StatusOK
		if list[i].role == "" {
			list[i].role = identity.Operator
		}
	}
	return list
}
