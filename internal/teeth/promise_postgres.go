package main

const (
	pgFunctions = "internal/store/postgres/migrations/0002_functions.sql"
	pgstore     = "internal/integration/pgstore"
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
		{"postgres: a transaction of another life wins", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, "won := life = of_life;", "won := true;"},
		}},
		{"postgres: a promotion goes unnoticed", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, " || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)", ""},
		}},
		{"postgres: a standby answers", in(pgstore, "TestPromotion").with("-short"), []edit{
			{pgFunctions, "IF current_setting('transaction_read_only')::boolean THEN", "IF false THEN"},
		}},
	},
}
