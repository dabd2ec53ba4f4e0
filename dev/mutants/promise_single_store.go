package main

const (
	singleStore = "internal/store/single/"
	claims      = singleStore + "claims/"
)

var oneStore = promise{
	page: "architecture.md",
	text: "On one consistent store claims keep the promises that they keep on a quorum of nodes.",
	plants: []plant{
		{"store: another incarnation is taken for the same", in(claims, "TestStaleStandby"), []edit{
			{"internal/store/single/records/records.go", "l.ID == s.Incarnation && ", ""},
		}},
		{"store: an incarnation counts as old, simulated", in(sim, "TestSimOnStore").with("-seeds=200").saying("broken: "), []edit{
			{"internal/store/single/records/records.go", "l.ID == s.Incarnation && ", ""},
		}},
		{"store: an incarnation counts as old, on standbys", in(campaigns, "TestCampaignPromotions").saying("ran twice"), []edit{
			{"internal/store/single/records/records.go", "l.ID == s.Incarnation && ", ""},
		}},
		{"store: only claims note another incarnation", in("replica", "TestFailoverBetweenRareTicks"), []edit{
			{"internal/store/single/join.go", "; now.Unnoted {", "; false {"},
		}},
		{"store: CLAIM does not compare what was forgotten", in(claims, "TestLateClaim"), []edit{
			{claims + "claim.go", "if v.claims.Fence == 0 {", "if false {"},
		}},
		{"store: CLAIM does not compare the leases", in(claims, "TestExtensionAgainstClaim"), []edit{
			{claims + "claim.go", "\tv.compareLeases(&txn)\n", ""},
		}},
		{"store: CLAIM compares no incarnation record", in(claims, "TestClaimAcrossRestore"), []edit{
			{claims + "view.go", "\tv.compare(&t, records.IncarnationKey())\n", ""},
		}},
		{"store: CLAIM leaves a lease that has expired", in(claims, "TestExtensionAgainstClaim"), []edit{
			{claims + "claim.go", "if k != t.lease && !v.lasts(k) {", "if false {"},
		}},
		{"store: a claim displaces one whose run it overlaps", in(claims, "TestOverlappingHoldersRejoin"), []edit{
			{claims + "view.go", "if before.Overlaps && ", "if false && "},
		}},
		{"store: a claim found in another incarnation counts", in(claims, "TestClaimFoundInAnotherIncarnation"), []edit{
			{claims + "claim.go", "if v.stamp.Incarnation != t.incarnation {", "if false {"},
		}},
		{"store: EXTEND does not compare the lease", in(claims, "TestLateExtension"), []edit{
			{claims + "lease.go", "If: []kv.Compare{{Key: l.t.lease, Version: l.held.version}},", ""},
		}},
		{"store: an extension counts after the deadline", in(claims, "TestAnswerAfterTheDeadline"), []edit{
			{claims + "lease.go", "!l.isOver() && deadline.After", "deadline.After"},
		}},
		{"store: the lease of an ended claim counts", in(claims, "TestLostAnswerToTheEnd"), []edit{
			{claims + "view.go", "case !c.Open():", `case c.Owner == "":`},
		}},
		{"store: FINISH does not compare the claims", in(claims, "TestEndAgainstClaim"), []edit{
			{claims + "end.go", "append(compared, records.ClaimsKey(t.req.Name))...", "compared..."},
		}},
		{"store: FINISH trusts a lease that it has not read", in(claims, "TestEndWithoutLease"), []edit{
			{claims + "end.go", "return v, []kv.Key{l.t.lease}, nil", "return v, nil, nil"},
		}},
		{"store: VOID leaves the way to a late claim", in(claims, "TestClaimThatGaveUpIsVoided"), []edit{
			{claims + "end.go", "mine.Owner == \"\" && v.versions[k] != t.compared && ", "mine.Owner == \"\" && "},
		}},
		{"store: an end that is refused once is lost", in(claims, "TestRefusedEndIsRepeated"), []edit{
			{claims + "end.go", "case errors.Is(err, kv.ErrTooLarge):", "case err != nil && !errors.Is(err, locking.ErrNoQuorum):"},
		}},
		{"store: a void that is refused once is given up", in(claims, "TestRefusedClaim"), []edit{
			{claims + "end.go", "return err != nil && !errors.Is(err, kv.ErrTooLarge)", "return errors.Is(err, kv.ErrUnavailable)"},
		}},
		{"store: tokens ahead are forgotten", in(claims, "TestAnotherIncarnationAfterTokensAhead"), []edit{
			{"internal/store/single/records/records.go", ", Ahead: l.Ahead}", "}"},
		}},
		{"clockless: a lease is free at first sight", in(claims, "TestLeaseIsObserved"), []edit{
			{claims + "observer.go", "now.Add(l.cfg.observeFor(lease) - now.Sub(since))", "now.Add(-now.Sub(since))"},
			{claims + "observer.go", "for k, lease := range v.leases", "for k := range v.leases"},
		}},
		{"clockless: an extension looks like the same", in(claims, "TestCampaign").saying("last at the same time"), []edit{
			{claims + "observer.go", " && s.version == r.Version", ""},
		}},
		{"clockless: the drift of clocks is ignored", in(claims, "TestLeaseIsObserved"), []edit{
			{claims + "observer.go", "time.Duration(float64(ttl)*c.DriftFactor)", "0"},
		}},
		{"clockless: a token ahead stops the others", in(claims, "TestClocksOfReplicas"), []edit{
			{claims + "view.go", "if v.observed {", "if false {"},
		}},
		{"clockless: an eviction ends by a clock", in(claims, "TestEvictionOutlastsClocks"), []edit{
			{claims + "view.go", "v.claims.Of(e.Owner).Open() || ", ""},
		}},
		{"store: VOID deletes the entry of another's run", in(claims, "TestVoidLeavesTheEntryOfAnother"), []edit{
			{claims + "end.go", "v.entries[entry].Owner == t.ruleTry.Owner", "v.versions[entry] > 0"},
		}},
		{"store: FORGET keeps no tick", in(claims, "TestForget"), []edit{
			{claims + "operator.go", "Tick: n.GCTick", "Tick: v.forgotten.Tick"},
		}},
		{"store copy: a replica meanwhile is not noticed", in("./internal/store", "TestReplicaMeanwhile"), []edit{
			{"internal/store/copy.go", "case !reflect.DeepEqual(now.Claims, m.Claims):", "case !reflect.DeepEqual(m.Claims, m.Claims):"},
		}},
		{"store copy: the largest token is forgotten", in("./internal/store", "TestClaimsGoOn"), []edit{
			{"internal/store/quorum/copy.go", "Fence: m.Fence, Tick: m.Tick}", "Tick: m.Tick}"},
		}},
		{"store copy: ticks of forgotten jobs run again", in("./internal/store", "TestClaimsGoOn"), []edit{
			{"internal/store/single/copy.go", "records.Forgotten{Fence: m.Fence, Tick: m.Tick}", "records.Forgotten{Fence: m.Fence}"},
		}},
		{"store copy: an application's request is lost", in("./internal/store", "TestApplicationMeanwhile"), []edit{
			{"internal/store/copy.go", "case now.Queued > 0:", "case false:"},
		}},
		{"store copy: replicas may use half a copy", in("./internal/store", "TestCutOff"), []edit{
			{"internal/store/single/copy.go", "Copying: true})", "Copying: false})"},
		}},
	},
}
