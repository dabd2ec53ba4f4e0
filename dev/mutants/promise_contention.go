package main

var competition = promise{
	page: "guarantees/contention.md",
	text: "Replicas that try at the same instant settle on one of them.",
	plants: []plant{
		{"contention: neither stagger nor retry", in(engine, "TestEveryTickOnceUnderContention"), []edit{
			{engine + "internal/attempt/wait.go", "return min(time.Duration(rank)*step, room/2)", "return 0"},
			{engine + "internal/attempt/attempt.go", "if a.assignment.waitCtx.Err() != nil {\n\t\treturn w.cutShort", "if true {\n\t\treturn w.cutShort"},
		}},
		{"contention: all replicas have rank 0", in(engine+"internal/job/", "TestRanksAreAPermutation", "TestRankIsPinned"), []edit{
			{engine + "internal/job/tick.go", "w > own || w == own && replica > self", "w > own && w == own"},
		}},
		{"N5: FINISH leaves no tombstone", rules, []edit{
			{scripts + "finish.lua", "if straggler == '1'", "if false"},
		}},
		{"N10: LOOK takes the lock", rules, []edit{
			{scripts + "lock.lua", "if v ~= '' and not mine", "if not mine"},
		}},
		{"C2: a failed try is not voided", in(redlock, "TestCommitGivenUp", "TestTooSlow"), []edit{
			{redlock + "try.go", "\t<-t.beginVoid(ctx).over\n\tt.retire(t.voidQuery())\n\treturn votes", "\treturn votes"},
		}},
		{"C2: a try behind a lease takes locks", in(redlock, "TestWaitingAsksFirst"), []edit{
			{redlock + "locker.go", "if !req.Waiting {", "if !req.Waiting || true {"},
		}},
		{"C4: FINISH overtakes COMMIT", in(redlock, "TestFinishDoesNotOvertakeCommit"), []edit{
			{redlock + "round.go", "r.t.after(i, func() { r.send(i) })", "r.send(i)"},
		}},
		{"C5: a hint decides a tick", in(engine, "TestHintsDecideNothing"), []edit{
			{engine + "internal/attempt/look.go", "v.Kind == job.Lost {", "v.Kind == job.Lost || errors.Is(hint, locking.ErrTaken) && a.window.until.Sub(a.deps.engine.Now()) < time.Second {"},
			{engine + "internal/attempt/look.go", "a.window.stop(v)", "a.window.stop(job.Verdict{Kind: job.Lost, Err: hint})"},
		}},
		{"lock: half a group is kept", in(locking, "TestAcquireAllOrNothing").saying("want [\"acquire a\" \"acquire b\" \"void b\" \"void a\"]"), []edit{
			{locking + "acquire.go", "errors.Join(err, g.giveBack(ctx))", "err"},
		}},
	},
}
