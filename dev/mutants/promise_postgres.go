package main

const (
	pgFunctions   = "internal/store/single/postgres/migrations/0002_functions.sql"
	pgGroups      = "internal/store/single/postgres/migrations/0006_groups.sql"
	pgFinish      = "internal/store/single/postgres/migrations/0005_finish.sql"
	pgPackage     = "internal/store/single/postgres/"
	groupsPackage = "internal/store/single/groups/"
	pgstore       = "dev/integration/pgstore"
	finishTests   = "dev/integration/finish"
)

var postgres = promise{
	page: "architecture.md",
	text: "PostgreSQL decides by what is stored, and says when that may have been forgotten.",
	plants: []plant{
		{"postgres: compared keys are not locked", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgFunctions, "PERFORM pg_advisory_xact_lock_shared(hash);", "NULL;"},
			{pgGroups, "WHEN 'if' THEN pg_try_advisory_xact_lock_shared(hash)", "WHEN 'if' THEN true"},
		}},
		{"postgres: changed keys are shared", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgGroups, "lock_record(kinds[i], names[i], subs[i], ops[i] = 'if')", "lock_record(kinds[i], names[i], subs[i], true)"},
			{pgGroups, "ELSE pg_try_advisory_xact_lock(hash) END", "ELSE pg_try_advisory_xact_lock_shared(hash) END"},
		}},
		{"postgres: a commit does not wait for the disk", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgFunctions, "('off', 'local', 'remote_write')", "('local', 'remote_write')"},
		}},
		{"postgres: another incarnation's transaction wins", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgGroups, "won := decided AND life = lives[t];", "won := decided;"},
		}},
		{"postgres: a promotion goes unnoticed", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgGroups, " || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)", ""},
		}},
		{"postgres: a standby answers", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgGroups, "IF current_setting('transaction_read_only')::boolean THEN", "IF false THEN"},
		}},
		{"postgres: versions are not compared, in a campaign", in(campaigns, "TestCampaignChaos").saying("ran twice"), []edit{
			{pgGroups, "won := wanted[i] = coalesce(found_version, 0);", "won := true;"},
		}},
		{"postgres: a commit does not wait for the standby", in(campaigns, "TestCampaignSynchronous").saying("violation"), []edit{
			{pgFunctions, "IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN", "IF true THEN"},
			{pgFunctions, "set_config('synchronous_commit', 'on', true)", "set_config('synchronous_commit', 'local', true)"},
		}},
		{"groups: members get each other's verdicts", in(pgstore, "TestGroups"), []edit{
			{pgPackage + "calls.go", "m.Answer = verdicts[i].Outcome", "m.Answer = verdicts[len(verdicts)-1-i].Outcome"},
		}},
		{"groups: members share a version", in(pgstore, "TestGroups"), []edit{
			{pgGroups, "written := nextval('versions');", "written := coalesce((SELECT max(r.version) FROM records r WHERE r.xmin = pg_current_xact_id()::xid), nextval('versions'));"},
		}},
		{"groups: a locked key is waited for", in(pgstore, "TestGroups"), []edit{
			{pgGroups, "IF waits THEN\n", "IF waits OR ops[i] <> 'if' THEN\n                PERFORM set_config('lock_timeout', '0', true);\n"},
		}},
		{"groups: a transaction without its keys is decided", in(pgstore, "TestGroups"), []edit{
			{pgGroups, "decided := locked[t];", "decided := true;"},
		}},
		{"groups: a verdict counts before the end", in(pgstore, "TestGroups"), []edit{
			{pgPackage + "calls.go", "verdicts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v verdict, err error) {\n", "var early []verdict\n\t_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (v verdict, err error) {\n\t\tdefer func() { early = append(early, v) }()\n"},
			{pgPackage + "calls.go", "\treturn verdicts, about(conn.Conn(), err)\n", "\tif len(early) == len(list) {\n\t\terr = nil\n\t}\n\treturn early, err\n"},
		}},
		{"groups: all get the error of one", in(pgstore, "TestGroups"), []edit{
			{pgPackage + "calls.go", "case err == nil, rolledBack(err):", "case err == nil:"},
		}},
		{"groups: a pooler's error counts as rolled back", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgPackage + "calls.go", "case conn.IsClosed(), strings.HasPrefix(answer.Code, \"08\"), answer.Code == completionUnknown:", "case answer.Code == completionUnknown:"},
		}},
		{"groups: a read joins one that was sent", in(groupsPackage, "TestGroupsAreOfThoseThatWait"), []edit{
			{groupsPackage + "groups.go", "		short = send(sending, group)\n", "		short = send(sending, group)\n		for _, m := range q.take() {\n			m.Answer = group[0].Answer\n			close(m.over)\n		}\n"},
		}},
		{"groups: statements are prepared behind a pooler", in(pgstore, "TestGroups"), []edit{
			{pgPackage + "calls.go", "process == conn.PgConn().PID()", "true"},
		}},
		{"groups: claims go before extensions", in(groupsPackage, "TestUrgentCallsGoFirst"), []edit{
			{groupsPackage + "groups.go", "for u := len(q.waiting) - 1; u >= 0; u-- {", "for u := range q.waiting {"},
		}},
		{"groups: those that go alone take all connections", in(pgstore, "TestGroups"), []edit{
			{pgPackage + "postgres.go", "max(1, int(config.MaxConns)-2*groups.MostUnderWay)", "100"},
		}},
		{"finish: another claim does not refuse the end", in(finishTests, "TestRules"), []edit{
			{pgFinish, "IF claim IS NULL OR claim ->> 'void' IS NOT NULL", "IF claim IS NULL THEN RETURN; END IF;\n    IF claim ->> 'void' IS NOT NULL"},
		}},
		{"finish: a token is enough to end a run", in(finishTests, "TestStrangersEndNothing"), []edit{
			{pgFinish, "WHERE c.value ->> 'owner' = owner AND (c.value", "WHERE (c.value"},
		}},
		{"finish: an end does not lock the claim", in(finishTests, "TestRules"), []edit{
			{pgFinish, "PERFORM lock_record('claim', job, '', false);", "NULL;"},
		}},
		{"finish: the entry stays open", in(campaigns, "TestCampaignFinish").saying("effects"), []edit{
			{pgFinish, "CASE ending WHEN 'OK' THEN 'F' ELSE 'R' END", "'S'"},
		}},
		{"finish: the engine calls again what has committed", in(campaigns, "TestCampaignFinish").saying("called again"), []edit{
			{"scheduler/internal/attempt/call.go", "if x.settle() {", "if false {"},
		}},
		{"finish: the engine asks not what has committed", in(finishTests, "TestEngine"), []edit{
			{"scheduler/internal/attempt/call.go", "if x.settle() {", "if false {"},
		}},
		{"finish: an unknown commit counts as rolled back", in("internal/store/single", "TestUnknownCommit").saying("the function was called"), []edit{
			{"scheduler/internal/attempt/finish.go", "whether the run was committed: %w\", err)\n\t\treturn true", "whether the run was committed: %w\", err)\n\t\treturn false"},
		}},
		{"finish: what stays unknown does not run again", in("internal/store/single", "TestUnknownRunsAgain"), []edit{
			{"scheduler/queue.go", "if end.Unknown {", "if false {"},
		}},
		{"finish: a failed call is repeated without a look", in("internal/store/single", "TestFinishUnderKills").saying("called again"), []edit{
			{"scheduler/internal/attempt/call.go", "if x.settle() {", "if false {"},
		}},
		{"finish: the engine does not wait for a COMMIT", in(finishTests, "TestEngine"), []edit{
			{claims + "end.go", `if v.endOf(t.ruleTry.Owner) != "" || !v.claims.Of(t.ruleTry.Owner).Open() {`, "if true {"},
		}},
		{"finish: a release overwrites what has committed", in(finishTests, "TestRules"), []edit{
			{claims + "end.go", `if code := v.endOf(t.ruleTry.Owner); code != "" {`, `if code := v.endOf(t.ruleTry.Owner); code == "none" {`},
		}},
	},
}
