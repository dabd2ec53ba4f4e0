package main

const (
	onMySQL       = "stores/mysql"
	mysqlTexts    = onMySQL + "/mysql.go"
	claimsInTx    = "internal/store/single/claims/intx.go"
	sqlstoreInTx  = "internal/store/single/sqlstore/intx.go"
	lockingClaims = "x.read(ctx, records.ClaimsKey(end.Job), x.Lock)"
)

var mysql = promise{
	page: "stores.md",
	text: "On MySQL a transaction of a function ends its run, or changes nothing, and nothing else waits for it.",
	plants: []plant{
		{"mysql: Finish does not lock the claims", in(onMySQL, "TestFinish").with("-short"), []edit{
			{sqlstoreInTx, lockingClaims, "x.read(ctx, records.ClaimsKey(end.Job), \"\")"},
		}},
		{"mysql: Finish believes an old snapshot", in(onMySQL, "TestFinish").with("-short"), []edit{
			{sqlstoreInTx, "if !held &&", "if now.IsZero() && !held &&"},
		}},
		{"mysql: Finish ends what others exclude", in(onMySQL, "TestFinish").with("-short"), []edit{
			{claimsInTx, "if a.Code != protocol.OK && a.Code != protocol.RanOut {", "if false {"},
		}},
		{"mysql: commits read all records", in(onMySQL, "TestTrigger").with("-short"), []edit{
			{mysqlTexts, "` FORCE INDEX (PRIMARY)`", "``"},
		}},
	},
}
