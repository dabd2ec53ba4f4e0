package main

const (
	listingPkg = "./scheduler/listing"
	listingDir = "scheduler/listing/"
)

// listingPlants are in what people see of a cluster, and in who may see and ask.
var listingPlants = []plant{
	{
		name: "listing: an entry between two pages", promise: "Every entry is on one page.",
		edits: []edit{{listingDir + "cursor.go", "job < c.job }", "job <= c.job }"}},
		pkg:   listingPkg, tests: []string{"TestRecentIsEverythingSorted"},
	},
	{
		name: "listing: a busy job is read once", promise: "The latest runs of all are the latest, whichever jobs they are of.",
		edits: []edit{{listingDir + "recent.go", "len(jobs) > 0; jobs", "len(jobs) > 0 && m.looked == 0; jobs"}},
		pkg:   listingPkg, tests: []string{"TestRecentIsEverythingSorted"},
	},
	{
		name: "listing: all of each job is read", promise: "A page costs as much, however long the history is.",
		edits: []edit{{listingDir + "merge.go", "Since: floor, Limit: h.size}", "Limit: 100 * h.size}"}},
		pkg:   listingPkg, tests: []string{"TestRecentReadsABoundedPart"},
	},
	{
		name: "listing: the beginning of each job is read", promise: "A page costs as much, however many jobs there are.",
		edits: []edit{{listingDir + "merge.go", "window := m.query.Limit", "window := 20 * m.query.Limit"}},
		pkg:   listingPkg, tests: []string{"TestRecentReadsABoundedPart"},
	},
	{
		name: "listing: a page ends behind what was not read", promise: "A page of which little is wanted goes on where it has stopped.",
		edits: []edit{{listingDir + "merge.go", "p.Next = behind(all[settled].Entry)", "p.Next = behind(all[len(all)-1].Entry)"}},
		pkg:   listingPkg, tests: []string{"TestRareEntriesAreFound"},
	},
	{
		name: "web: a key is the id of an act", promise: "Nobody can send the id of an act that the scheduler makes.",
		edits: []edit{{webDir + "acts.go", "scheduler.ActID(cmp.Or(c.id.Name, c.id.Address), key)", "key"}},
		pkg:   webPkg, tests: []string{"TestNoKeyForestallsAChain"},
	},
	{
		name: "web: strangers read through a proxy", promise: "A request from a trusted proxy without a user is never anonymous.",
		edits: []edit{{webDir + "identity.go", "if s.trusted(peerOf(r)) {\n		return false", "if false {\n		return false"}},
		pkg:   webPkg, tests: []string{"TestAnonymousReaders"},
	},
	{
		name: "web: long names are counted", promise: "Failed logins take little memory.",
		edits: []edit{{webDir + "identity.go", "if len(name) > maxName { // nobody", "if false { // nobody"}},
		pkg:   webPkg, tests: []string{"TestLongNamesAreNotKept"},
	},
	{
		name: "listing: acts go by the list that is kept", promise: "A job can be acted on as soon as it is served.",
		edits: []edit{{listingDir + "control.go", "	c.Kept.Drop()\n", ""}},
		pkg:   listingPkg, tests: []string{"TestShelf"},
	},
	{
		name: "listing: who gives up spoils it for others", promise: "What one reader was told when it gave up is not for others.",
		edits: []edit{{listingDir + "shelf.go", "if r.err == nil {", "if true {"}, {listingDir + "shelf.go", "return r.d, nil", "return r.d, r.err"}},
		pkg:   listingPkg, tests: []string{"TestShelf"},
	},
	{
		name: "listing: a call for each job", promise: "What a page asks of the nodes does not grow with every job.",
		edits: []edit{{ledgerDir + "skim.go", "skimJobs    = 250", "skimJobs    = 1"}},
		pkg:   "./scheduler/replica", tests: []string{"TestPagesAreBounded"},
	},
	{
		name: "ledger: a stretch ends at the farthest node's end", promise: "Of a tick is listed what all nodes know that answer.",
		edits: []edit{{ledgerDir + "page.go", "p.complete, p.horizon = false, max(p.horizon, rest)", "p.complete, p.horizon = false, rest-1"}},
		pkg:   redisledger, tests: []string{"TestLedgerConforms"},
	},
	{
		name: "ledger: trimming forgotten", promise: "A note says nothing of a tick whose run may be trimmed.",
		edits: []edit{{ledgerDir + "merge.go", "return m.trimmed && k.tick <= m.gone", "return false"}},
		pkg:   redisledger, tests: []string{"TestNotesOfTrimmedRunsStayHidden"},
	},
	{
		name: "ledger: notes among the runs", promise: "No note drops a run.",
		edits: []edit{{ledgerDir + "ledger.go", `l.set.JobKey(e.Job, "notes")`, `l.set.JobKey(e.Job, "runs")`}},
		pkg:   redisledger, tests: []string{"TestArchiveConforms"},
	},
	{
		name: "node: trimming unmarked", promise: "A node keeps the latest tick that it has dropped.",
		edits: []edit{{"locking/redlock/nodes/head.lua", "redis.call('ZADD', set, 'GT', goes[2], 'E')", ""}},
		pkg:   redisledger, tests: []string{"TestScriptsAgreeWithTheModel"},
	},
	{
		name: "listing: the schedule walked from the beginning", promise: "What nobody could record is found without walking through years.",
		edits: []edit{{schedulerDir + "background.go", "span := time.Minute;", "span := 1e6 * time.Hour;"}},
		pkg:   scheduler, tests: []string{"TestSleptThroughIsBounded"},
	},
	{
		name: "listing: lost history taken for an outage", promise: "What nodes may have forgotten is not said to be missed for another reason.",
		edits: []edit{{schedulerDir + "background.go", "return at.Before(b.remembered)", "return false"}},
		pkg:   listingPkg, tests: []string{"TestTicksWithoutAnEntryAreShown"},
	},
}

const (
	webPkg = "./scheduler/web"
	webDir = "scheduler/web/"
)

// webPlants are in who may see and ask over HTTP.
var webPlants = []plant{
	{
		name: "web: every role may act", promise: "Nobody acts without the role for it.",
		edits: []edit{{webDir + "role.go", ">= slices.Index(Roles(), needed)", ">= 0"}},
		pkg:   webPkg, tests: []string{"TestRoles"},
	},
	{
		name: "web: this machine may act", promise: "Nobody acts without a role, also not from localhost.",
		edits: []edit{{webDir + "identity.go", "id.Role = Viewer\n", "id.Role = Admin\n"}},
		pkg:   webPkg, tests: []string{"TestNobodyActsFromLocalhost"},
	},
	{
		name: "web: anybody names the user", promise: "Only a proxy that is trusted names the user.",
		edits: []edit{{webDir + "identity.go", `|| !s.trusted(peerOf(r)) {`, "|| false {"}},
		pkg:   webPkg, tests: []string{"TestProxy"},
	},
	{
		name: "web: pages of others read this machine", promise: "A name that somebody else has made resolve to this machine does not read.",
		edits: []edit{{webDir + "identity.go", "&& loopbackName(r.Host)", ""}},
		pkg:   webPkg, tests: []string{"TestAnonymousReaders"},
	},
	{
		name: "web: guesses without end", promise: "Who guesses secrets must wait.",
		edits: []edit{{webDir + "identity.go", "s.failures.add(id.Address, name, now)", ""}},
		pkg:   webPkg, tests: []string{"TestFailedLogins"},
	},
	{
		name: "web: pages of other origins act", promise: "A page of another origin cannot make a browser act.",
		edits: []edit{{webDir + "server.go", "err := s.origins.Check(r); err != nil", "err := s.origins.Check(r); err != nil && false"}},
		pkg:   webPkg, tests: []string{"TestOtherOrigins"},
	},
	{
		name: "web: refused acts leave no trace", promise: "Every refused act is audited.",
		edits: []edit{{webDir + "server.go", `wrong != nil && rt.kind != ""`, `wrong != nil && rt.kind == "nosuch"`}},
		pkg:   webPkg, tests: []string{"TestEveryActIsAudited"},
	},
	{
		name: "web: refusals fill the audit log", promise: "Refused acts do not drive others out of the audit log.",
		edits: []edit{{webDir + "refused.go", "return l.fail.n <= noteMost", "return true"}},
		pkg:   webPkg, tests: []string{"TestEveryActIsAudited"},
	},
	{
		name: "web: a lock taken away without its name", promise: "A lock is taken away only by who writes its name.",
		edits: []edit{{webDir + "acts.go", "if body.Confirm != act.Job {", "if false {"}},
		pkg:   webPkg, tests: []string{"TestReleaseIsConfirmed"},
	},
	{
		name: "web: answers that are not described", promise: "The API answers as its document says.",
		edits: []edit{{webDir + "schema.go", `s.Type, s.Types = "", []string{"object", "null"}`, ""}},
		pkg:   webPkg, tests: []string{"TestAPIAsDescribed"},
	},
	{
		name: "acts: a note ends a pause", promise: "A note changes nothing.",
		edits: []edit{{actsDir + "note.go", `v.state, v.line, v.last = closed, "note", 0`, `v.last = 0`}, {actsDir + "note.go", "requestOf(act.ID), v.String()", "standingOf(v.line), v.String()"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
}

// servedPlants are in what a replica serves.
var servedPlants = []plant{
	{
		name: "web: secrets in the configuration that is shown", promise: "What is shown of a configuration has no secrets.",
		edits: []edit{{replicaDir + "shown.go", "return marked.hidden(marked.text)", "return text"}},
		pkg:   replica, tests: []string{"TestShownHasNoSecrets"},
	},
	{
		name: "web: a secret beside a reference is shown", promise: "Of a text that may hold a secret only the references are shown.",
		edits: []edit{{replicaDir + "shown.go", "\tswitch {\n\tcase err == nil && u.Host", "\tswitch {\n\tcase hasReference(text):\n\t\treturn text\n\tcase err == nil && u.Host"}},
		pkg:   replica, tests: []string{"TestShownSecretBesideAReference"},
	},
	{
		name: "web: a certificate that was renewed is not served", promise: "A certificate can be renewed without a restart.",
		edits: []edit{{replicaDir + "web.go", "err == nil && info.ModTime().Equal(c.modified)", "err == nil && c.pair != nil"}},
		pkg:   replica, tests: []string{"TestCertificateIsRenewed"},
	},
	{
		name: "web: plain secrets in the configuration", promise: "Secrets of users are kept hashed only.",
		edits: []edit{{replicaDir + "check_http.go", `user.Password != "" && !hasReference(user.Password) && err != nil`, `user.Password == "nosuch" && err != nil`}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
}
