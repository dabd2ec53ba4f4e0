package main

const (
	sqlstore = "internal/store/single/sqlstore/"
	mySQL    = onMySQL + "/mysql.go"
)

// onSQL is clients of locks on the simulated database, in some 200 worlds.
var onSQL = in(sim, "TestLocksOnSQL").with("-claims=50000").saying("broken: ")

var sqlDatabases = promise{
	page: "stores.md",
	text: "On MySQL and SQLite, transactions are decided by versions, locks hold what they compare, and another server or file is another incarnation.",
	plants: []plant{
		{"sqlstore: versions are not compared", in(sqlstore, "TestPlan"), []edit{
			{sqlstore + "plan.go", "won = won && (c.Wanted < 0 || uint64(c.Wanted) == version)", "_ = version"},
		}},
		{"sqlstore: the incarnation is not compared", in(sqlstore, "TestPlan"), []edit{
			{sqlstore + "plan.go", "t.incarnation == now.Incarnation, false, uint64(0)", "true, false, uint64(0)"},
		}},
		{"sqlstore: versions of deleted keys come again", in(sqlstore, "TestPlan"), []edit{
			{sqlstore + "plan.go", "	p.locked[slot] = max(p.locked[slot], version)\n", "	_ = version\n"},
		}},
		{"sqlstore: who has no slot decides", in(sqlstore, "TestPlan"), []edit{
			{sqlstore + "plan.go", "p.locked[p.slot(c.Key)]; !locked {", "p.locked[p.slot(c.Key)]; !locked && slot > 0 {"},
		}},
		{"sqlstore: versions are not compared, simulated", onSQL, []edit{
			{sqlstore + "plan.go", "won = won && (c.Wanted < 0 || uint64(c.Wanted) == version)", "_ = version"},
		}},
		{"sqlstore: who has no slot decides, simulated", onSQL, []edit{
			{sqlstore + "plan.go", "p.locked[p.slot(c.Key)]; !locked {", "p.locked[p.slot(c.Key)]; !locked && slot > 0 {"},
		}},
		{"sqlstore: what does not exist has no slot", onSQL, []edit{
			{sqlstore + "plan.go", "return c.Wanted <= 0 || c.Op == groups.Delete", "return c.Op == groups.Delete"},
		}},
		{"sqlstore: a COMMIT without an answer was made", onSQL, []edit{
			{sqlstore + "commit.go", "	return errors.Join(rows.Err(), rows.Close())\n}\n\n// lost", "	if ctx.Err() != nil {\n		return nil\n	}\n	return errors.Join(rows.Err(), rows.Close())\n}\n\n// lost"},
		}},
		{"sqlstore: a COMMIT without an answer was not made", in(onMySQL, "TestServer"), []edit{
			{sqlstore + "commit.go", "err != nil && s.Answered(err)", "err != nil"},
		}},
		{"sqlstore: another server has the same life", in(sim, "TestLocksOfRowsAreNeeded").saying("seed"), []edit{
			{sqlstore + "sqlstore.go", "now.server != now.identity || ", ""},
		}},
		{"sqlstore: compared records are not locked", in(sim, "TestComparedIsLocked"), []edit{
			{sqlstore + "plan.go", "addRecords(p.comparedRecords, t.CompareRecords)", `addRecords(p.comparedRecords, "")`},
		}},
		{"sqlstore: what must not be made is not locked", in(sim, "TestComparedIsLocked"), []edit{
			{sqlstore + "plan.go", "addSlots(p.comparedSlots, t.CompareSlots)", `addSlots(p.comparedSlots, "")`},
		}},
		{"mysql: compared records are not locked", in(onMySQL, "TestKits").with("-short"), []edit{
			{mySQL, "CompareRecords: share,", "CompareRecords: \"\","},
		}},
		{"mysql: what is absent is not locked", in(onMySQL, "TestKits").with("-short"), []edit{
			{mySQL, "CompareSlots: shareFree,", "CompareSlots: \"\","},
		}},
		{"mysql: a promoted replica has the same life", in(onMySQL, "TestPromotion"), []edit{
			{mySQL, "CONCAT(@@GLOBAL.server_id, '@', @@GLOBAL.hostname, ':', @@GLOBAL.port)", "'one'"},
		}},
		{"sqlite: a commit into a replaced file counts", in("stores/sqlite", "TestKept"), []edit{
			{"stores/sqlite/dialect.go", "		return l.kept()\n", "		_ = l\n		return nil\n"},
		}},
	},
}
