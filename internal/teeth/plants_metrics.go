package main

const (
	metrics = "./scheduler/metrics"
	traces  = "./scheduler/traces"
)

// metricsPlants are in what the scheduler and the nodes tell observers, and in what
// metrics, traces and alerts make of it.
var metricsPlants = []plant{
	{
		name: "tell: jitter counted as delay", promise: "A run is behind by what the scheduler needed, not by its jitter.",
		edits: []edit{{"scheduler/tell.go", "a.started.Sub(a.tick.start)", "a.started.Sub(a.tick.nominal)"}},
		pkg:   scheduler, tests: []string{"TestARunIsToldStepByStep"},
	},
	{
		name: "tell: unused claim untold", promise: "A claim that came too late to begin is told as unused.",
		edits: []edit{{"scheduler/run.go", "\t\ta.cfg.Observer.Unused(a.job.Name, a.claim())\n", ""}},
		pkg:   scheduler, tests: []string{"TestUnusedClaimsAreTold"},
	},
	{
		name: "tell: validity after the extension", promise: "What a lease had left is told as of before its extension.",
		edits: []edit{{"locking/keep.go", "Left: left, Took", "Left: Left(k.lease), Took"}, {"locking/keep.go", "begun, left := time.Now(), Left(k.lease)", "begun := time.Now()"}},
		pkg:   locking, tests: []string{"TestHoldTellsOfExtensions"},
	},
	{
		name: "tell: inner middleware first", promise: "The first middleware of the scheduler is outermost.",
		edits: []edit{{"scheduler/params.go", "slices.Backward(a.cfg.Middleware)", "slices.All(a.cfg.Middleware)"}},
		pkg:   scheduler, tests: []string{"TestMiddlewareOfTheScheduler"},
	},
	{
		name: "reasons: another's code", promise: "Each reason that the scheduler gives has its code.",
		edits: []edit{{"scheduler/verdict.go", "return missedFor(CodeSplit)", "return missedFor(CodeNoQuorum)"}},
		pkg:   scheduler, tests: []string{"TestCodesOfRefusals"},
	},
	{
		name: "reasons: details not kept", promise: "The ledger keeps what is known of a case, beside the code.",
		edits: []edit{{"scheduler/note_reason.go", "	n.Text = clipTo(d.Text, text)", "	_ = clipTo(d.Text, text)"}},
		pkg:   scheduler, tests: []string{"TestReasonsAreKept"},
	},
	{
		name: "reasons: the cause is not found", promise: "A filter by code finds reasons that come with others.",
		edits: []edit{{"scheduler/reason.go", "for p := &r; p != nil; p = p.with() {", "for p := &r; p == &r; p = p.with() {"}},
		pkg:   scheduler, tests: []string{"TestCodesOfRuns"},
	},
	{
		name: "nodes: batched replies untold", promise: "Replies to calls that share a request are told.",
		edits: []edit{{"locking/redlock/nodes/round.go", "n.note(ctx, script, r)", "n.observe(ctx, r)"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestRepliesAreTold"},
	},
	{
		name: "nodes: abstaining node counted as a vote", promise: "A node that abstains does not count as one that votes.",
		edits: []edit{{"locking/redlock/nodes/node.go", "c.rejected == nil && !n.clock.vouches().After(now)", "c.rejected == nil && !now.IsZero()"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestStandings"},
	},
	{
		name: "metrics: every replica counts", promise: "A tick that nobody ran is counted once in the cluster.",
		edits: []edit{{"scheduler/metrics/ticks.go", "o.Settled = m.account", "o.Settled, o.Decided = m.account, m.account"}},
		pkg:   metrics, tests: []string{"TestWhatEventsCount"},
	},
	{
		name: "metrics: label for each job", promise: "Jobs beyond the bound share a label.",
		edits: []edit{{"scheduler/metrics/jobs.go", "if len(b.own) >= b.max {", "if b.max == 0 {"}},
		pkg:   metrics, tests: []string{"TestJobLabelsAreBounded"},
	},
	{
		name: "metrics: series of removed jobs", promise: "The series of a job that was removed go.",
		edits: []edit{{"scheduler/metrics/jobs.go", "\t\t\tb.drop(prometheus.Labels{byJob: job})\n", ""}, {"scheduler/metrics/jobs.go", "func (b *jobBook) drop(", "func (b *jobBook) Drop("}},
		pkg:   metrics, tests: []string{"TestJobLabelsAreBounded"},
	},
	{
		name: "metrics: no series before the first event", promise: "What rates are taken of is there from the start.",
		edits: []edit{{"scheduler/metrics/ticks.go", "t.reasons.WithLabelValues(string(o), string(c))\n\t\t}", "_ = o\n\t\t}"}},
		pkg:   metrics, tests: []string{"TestSeriesAreThereFromTheStart"},
	},
	{
		name: "metrics: nonsense makes series", promise: "A node that answers nonsense does not make series without end.",
		edits: []edit{{"scheduler/metrics/nodes.go", "key.said, result = Other, Other", "_ = Other"}},
		pkg:   metrics, tests: []string{"TestRepliesOfNodes"},
	},
	{
		name: "metrics: margin of all nodes", promise: "The margin is of nodes that vote.",
		edits: []edit{{"scheduler/metrics/nodes.go", "if n.Votes {", "if n.Up {"}},
		pkg:   metrics, tests: []string{"TestGaugesOfNodes"},
	},
	{
		name: "traces: run beside its tick", promise: "The span of a call hangs below that of its tick.",
		edits: []edit{{"scheduler/traces/tracer.go", "\t\tctx = trace.ContextWithSpan(ctx, t.of(run{r.Job, r.Token}))\n", ""}},
		pkg:   traces, tests: []string{"TestSpans"},
	},
	{
		name: "traces: function without its span", promise: "Spans of the function hang below that of its call.",
		edits: []edit{{"scheduler/traces/tracer.go", "ctx, span := t.tracer.Start(ctx, \"run\"", "_, span := t.tracer.Start(ctx, \"run\""}},
		pkg:   traces, tests: []string{"TestSpans"},
	},
	{
		name: "traces: spans kept for ever", promise: "A tick that has ended leaves nothing behind.",
		edits: []edit{{"scheduler/traces/tracer.go", "delete(t.open, r)", "_ = r"}},
		pkg:   traces, tests: []string{"TestSpans"},
	},
	{
		name: "alerts: the last spare node", promise: "Somebody is told when one more lost node would stop all claims.",
		edits: []edit{{"docs/monitoring/alerts.yaml", "(quorate_quorum_margin) == 0 and", "(quorate_quorum_margin) == 1 and"}},
		pkg:   metrics, tests: []string{"TestAlerts"},
	},
	{
		name: "alerts: metric renamed", promise: "Alerts, dashboard and page name metrics that there are.",
		edits: []edit{{"scheduler/metrics/nodes.go", "desc(\"quorum_margin\"", "desc(\"quorum_spare\""}},
		pkg:   metrics, tests: []string{"TestMetricsAreNamedAsTheyAre"},
	},
	{
		name: "alerts: panel that Prometheus refuses", promise: "Each panel asks what Prometheus understands.",
		edits: []edit{{"docs/monitoring/grafana.json", "\"expr\": \"sum(quorate_runs_in_progress", "\"expr\": \"sum((quorate_runs_in_progress"}},
		pkg:   metrics, tests: []string{"TestDashboard"},
	},
	{
		name: "probes: metrics for everybody", promise: "On http.listen only who may read is served the metrics.",
		edits: []edit{{webDir + "probes.go", "wrong == nil && !open && !id.Role.Allows(Viewer)", "false && !open"}},
		pkg:   "./scheduler/web", tests: []string{"TestProbes"},
	},
	{
		name: "probes: reasons for everybody", promise: "On http.listen only who may read is told why the replica is not ready.",
		edits: []edit{{"scheduler/web/probes.go", "|| !id.Role.Allows(Viewer) {", "&& !id.Role.Allows(Viewer) {"}},
		pkg:   "./scheduler/web", tests: []string{"TestProbes"},
	},
}
