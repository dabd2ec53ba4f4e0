package main

const (
	pgFunctions = "internal/store/single/postgres/migrations/0002_functions.sql"
	pgFinish    = "internal/store/single/postgres/migrations/0005_finish.sql"
	pgstore     = "dev/integration/pgstore"
	finishTests = "dev/integration/finish"
)

var postgres = promise{
	page: "architecture.md",
	text: "PostgreSQL decides by what is stored, and says when that may have been forgotten.",
	plants: []plant{
		{"postgres: compared keys are not locked", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgFunctions, "PERFORM pg_advisory_xact_lock_shared(hash);", "NULL;"},
		}},
		{"postgres: changed keys are shared", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgFunctions, "ops[i] = 'if')", "true)"},
		}},
		{"postgres: a commit does not wait for the disk", in(pgstore, "TestPostgres").with("-short"), []edit{
			{pgFunctions, "('off', 'local', 'remote_write')", "('local', 'remote_write')"},
		}},
		{"postgres: another incarnation's transaction wins", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, "won := life = of_life;", "won := true;"},
		}},
		{"postgres: a promotion goes unnoticed", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, " || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)", ""},
		}},
		{"postgres: a standby answers", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, "IF current_setting('transaction_read_only')::boolean THEN", "IF false THEN"},
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
