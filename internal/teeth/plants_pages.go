package main

// pagePlants are in the pages of the dashboard.
var pagePlants = []plant{
	{
		name: "pages: a script in a page runs", promise: "Pages allow no script but their own.",
		edits: []edit{{webDir + "pages.go", "script-src 'self'; img-src", "script-src 'self' 'unsafe-inline'; img-src"}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: text of others is HTML", promise: "What others wrote is shown as text.",
		edits: []edit{{webDir + "pages.go", "\"html/template\"", "\"text/template\""}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: a form without a role", promise: "A form does what the role allows, and no more.",
		edits: []edit{{webDir + "page_acts.go", "id, wrong := p.admit(asked, rt)", "id, wrong := p.admit(asked, route{role: Viewer, kind: rt.kind})"}},
		pkg:   webPkg, tests: []string{"TestForms"},
	},
	{
		name: "pages: a form asks twice", promise: "A form that is sent twice asks once.",
		edits: []edit{{webDir + "page_acts.go", `asked.Header.Set("Idempotency-Key", filled.Get("key"))`, `asked.Header.Del("Idempotency-Key")`}},
		pkg:   webPkg, tests: []string{"TestForms"},
	},
	{
		name: "pages: back to anywhere", promise: "The switch for dark and light leads nowhere else.",
		edits: []edit{{webDir + "page_files.go", `strings.Contains(before, "//") ||`, `before == "//" ||`}},
		pkg:   webPkg, tests: []string{"TestTheme"},
	},
	{
		name: "pages: a clock from the other side", promise: "A replica's clock is told as ahead of the nodes', not behind.",
		edits: []edit{{"locking/redlock/nodes/skew.go", "return -offsets[len(offsets)/2], true", "return offsets[len(offsets)/2], true"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestClockOffset"},
	},
	{
		name: "pages: the same set since now", promise: "Since when a replica serves its jobs does not change with an update that changes nothing.",
		edits: []edit{{"scheduler/publish.go", "	if p.hash != hash {\n		p.since", "	{\n		p.since"}},
		pkg:   "./scheduler", tests: []string{"TestPublisher"},
	},
	{
		name: "pages: drift the wrong way round", promise: "The page of the configuration says which replica serves which version.",
		edits: []edit{{webDir + "page_drift.go", "listing.Text(r.ConfigHash) == v.ConfigHash", "listing.Text(r.ConfigHash) != v.ConfigHash"}},
		pkg:   webPkg, tests: []string{"TestDriftInWords"},
	},
	{
		name: "pages: refusals hide", promise: "The audit log is narrowed to what was refused, and to what was not.",
		edits: []edit{{"scheduler/listing/audit.go", "*q.Refused == act.Refused", "!act.Refused"}},
		pkg:   webPkg, tests: []string{"TestAuditIsFiltered"},
	},
	{
		name: "pages: a fresh cluster hides its past", promise: "The overview shows a shorter range only where that hides nothing.",
		edits: []edit{{webDir + "page_overview.go", "return e.OrderKey().Before(from)", "return e.OrderKey().After(now)"}},
		pkg:   webPkg, tests: []string{"TestOverviewOfAFreshCluster"},
	},
	{
		name: "pages: jitter by another name", promise: "Listings say when a delayed tick starts, as the replicas have it.",
		edits: []edit{{"scheduler/roster.go", "return Job{Name: j.Name, Key: j.Key,", "return Job{Name: j.Replica, Key: j.Key,"}},
		pkg:   "./scheduler/listing", tests: []string{"TestNextSaysTheJitter"},
	},
	{
		name: "pages: left out without a word", promise: "The tick after one that dst.gap: skip leaves out says so.",
		edits: []edit{{"scheduler/zoned.go", "seg.repeatedUntil >= seg.from {", "seg.repeatedUntil < seg.from {"}},
		pkg:   "./scheduler", tests: []string{"TestPreviewNotes"},
	},
	{
		name: "pages: a login leads anywhere", promise: "A login goes back to the page one came from, and nowhere else.",
		edits: []edit{{webDir + "page_files.go", `http.Redirect(w, r, p.ownPath(r.URL.Query().Get("back"))`, `http.Redirect(w, r, r.URL.Query().Get("back")`}},
		pkg:   webPkg, tests: []string{"TestLogin"},
	},
	{
		name: "users: one who was removed stays on the line", promise: "Who is no user any more follows no events.",
		edits: []edit{{webDir + "users.go", "	s.users.Swap(newUsers(list)).replaced()\n", "	s.users.Store(newUsers(list))\n"}},
		pkg:   webPkg, tests: []string{"TestStreamsEndWithTheRight"},
	},
	{
		name: "jobs: the replica's secrets are logged", promise: "What jobs log hides the secrets of the configuration.",
		edits: []edit{{"scheduler/replica/replica.go", "		part.Middleware = append(part.Middleware, secrets.Middleware)\n", "		_ = secrets\n"}},
		pkg:   "./scheduler/replica", tests: []string{"TestFailureIsToldAndItsLogKept"},
	},
	{
		name: "configuration: every value of env is shown", promise: "Values of env and headers are hidden unless harmless.",
		edits: []edit{{"scheduler/replica/shown.go", "return !harmlessKey.MatchString(key)", "return secretKey.MatchString(key)"}},
		pkg:   "./scheduler/replica", tests: []string{"TestShownEnvAndHeaders"},
	},
	{
		name: "webhooks: the time is not signed", promise: "A webhook's signature covers its time.",
		edits: []edit{{"scheduler/webhook/sign.go", "	mac.Write([]byte(stamp + \".\"))\n", ""}},
		pkg:   "./scheduler/webhook", tests: []string{"TestVerify", "TestMessagesAreSigned"},
	},
	{
		name: "logins: guesses first", promise: "Many guesses do not hold a login up.",
		edits: []edit{{webDir + "turns.go", "return x.rank - y.rank", "return y.rank - x.rank"}},
		pkg:   webPkg, tests: []string{"TestTurnsAreFair"},
	},
	{
		name: "events: one client takes all places", promise: "One client takes a quarter of the places for streams.",
		edits: []edit{{webDir + "streams.go", " || p.taken[client] >= max(1, most/clientShare)", ""}},
		pkg:   webPkg, tests: []string{"TestOneClientTakesAShareOfTheStreams"},
	},
	{
		name: "users: a broken file removes all", promise: "What is wrong with the file of users changes nothing.",
		edits: []edit{{"scheduler/replica/users_file.go", "	if err == nil {\n		err = b.set(users)\n	}", "	err = errors.Join(err, b.set(users))"}, {"scheduler/replica/users_file.go", "	\"context\"\n", "	\"context\"\n	\"errors\"\n"}},
		pkg:   "./scheduler/replica", tests: []string{"TestUsersFileIsReadAgain"},
	},
	{
		name: "pages: old without saying so", promise: "What could not be read now is shown with its age.",
		edits: []edit{{webDir + "pages.go", "	v.outdated(at, err)\n", "	_ = at\n"}},
		pkg:   webPkg, tests: []string{"TestPagesWithoutQuorum"},
	},
	{
		name: "pages: silent since nobody can be asked", promise: "Without a quorum replicas are judged as of when they were read.",
		edits: []edit{{webDir + "page_who.go", "v.asOf().Sub(seen)", "v.Now.Sub(seen)"}},
		pkg:   webPkg, tests: []string{"TestOverviewWithoutQuorum"}, says: "silent",
	},
	{
		name: "pages: not known is nothing", promise: "What was never read is not shown as nothing.",
		edits: []edit{{webDir + "page_overview.go", "Unknown: all.unknown != nil", "Unknown: false"}},
		pkg:   webPkg, tests: []string{"TestOverviewWithoutQuorum"}, says: "Not known",
	},
	{
		name: "pages: a page without a policy", promise: "Every page has a policy of its own.",
		edits: []edit{{webDir + "pages.go", "	h.Set(\"Content-Security-Policy\", pagePolicy)\n", ""}},
		pkg:   webPkg, tests: []string{"TestDashboard"}, says: "the policy is",
	},
	{
		name: "pages: a script stands in a page", promise: "No script stands in a page.",
		edits: []edit{{webDir + "templates/layout.html", "</head>", "<script>window.page = 1</script></head>"}},
		pkg:   webPkg, tests: []string{"TestDashboard"}, says: "<script>",
	},
	{
		name: "pages: who is lost is nobody", promise: "A page that is not there still knows who asks.",
		edits: []edit{{webDir + "pages.go", "v, _ := p.enter(", "v, _ := p.visit(r, sheet{}), p.visit("}},
		pkg:   webPkg, tests: []string{"TestRefusalsSayWhatToDo"}, says: "bob, viewer",
	},
	{
		name: "pages: one loss too few", promise: "The overview says how many more nodes may fail.",
		edits: []edit{{listingDir + "margin.go", "needed := len(nodes)/2 + 1", "needed := len(nodes) / 2"}},
		pkg:   webPkg, tests: []string{"TestOverviewInWords"},
	},
	{
		name: "pages: the dead are ready", promise: "The overview says which replicas are silent, and which have gone.",
		edits: []edit{{webDir + "page_who.go", "quiet > silentAfter", "quiet > time.Hour"}},
		pkg:   webPkg, tests: []string{"TestSilentReplica"},
	},
}
