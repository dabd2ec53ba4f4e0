package main

// firePlants are in what an ordinary fire costs.
var firePlants = []plant{
	{
		name: "fires: goroutines for one attempt each", promise: "Goroutines that are done with an attempt stay for the next.",
		edits: []edit{{schedulerDir + "crew.go", "if c.idle.Add(1) > idleHands {", "if c.idle.Add(1) > 0 {"}},
		pkg:   scheduler, tests: []string{"TestFireIsCheap"},
	},
	{
		name: "fires: a row loses its head", promise: "When the first of those that come together goes, the next orders them.",
		edits: []edit{{schedulerDir + "due.go", "if meeting := q.meeting(head); *meeting == head {", "if meeting := q.meeting(head); *meeting == nil {"}},
		pkg:   scheduler, tests: []string{"TestDueQueueKeepsOrder"},
	},
	{
		name: "fires: each stands in the heap", promise: "Jobs that come at the same instant cost the heap one place.",
		edits: []edit{{schedulerDir + "due.go", "if head == nil || !head.next.start.Equal(j.next.start) {", "if head != j {"}},
		pkg:   scheduler, tests: []string{"TestDueQueueHasOneOfThoseThatComeTogether"},
	},
	{
		name: "fires: stamps lose a digit", promise: "The id of a run is written as package time would.",
		edits: []edit{{schedulerDir + "ledger.go", "t.Nanosecond()/int(time.Millisecond), 3)", "t.Nanosecond()/int(time.Millisecond)%100, 3)"}},
		pkg:   scheduler, tests: []string{"TestStampsAreThoseOfPackageTime"},
	},
}
