package schedtest

import (
	"cmp"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

// An ActsBackend is a kind of [acts.Store] under test.
type ActsBackend struct {
	Hooks
	// New makes an empty cluster and returns its acts. Required.
	New func(t testing.TB) acts.Store
	// MaxOpen bounds the open requests. Default: acts.MaxOpen.
	MaxOpen int
	// Nodes is how many nodes vote on a request, 0 or 1 in one store. Each has a bound of its own,
	// so competing requests together may exceed MaxOpen where several vote.
	Nodes int
	// MaxPauses bounds the current pauses. Default: acts.MaxPauses.
	MaxPauses int
}

// RunActs checks every promise of [acts.Store], one subtest each.
func RunActs(t *testing.T, b ActsBackend) {
	t.Helper()
	b.Hooks = b.withDefaults()
	b.MaxOpen, b.MaxPauses = cmp.Or(b.MaxOpen, acts.MaxOpen), cmp.Or(b.MaxPauses, acts.MaxPauses)
	for _, c := range actsChecks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(&actsBench{TB: t, ActsBackend: b, Store: b.New(t)})
			})
		})
	}
}

type actsCheck struct {
	name string
	run  func(*actsBench)
}

func actsChecks() []actsCheck {
	return []actsCheck{
		{"NothingIsOpenAtFirst", nothingIsOpenAtFirst},
		{"ARequestIsOpenUntilClosed", aRequestIsOpenUntilClosed},
		{"ParamsKeepTheirBytes", paramsKeepTheirBytes},
		{"ARequestExpires", aRequestExpires},
		{"AskingTwiceIsAskingOnce", askingTwiceIsAskingOnce},
		{"AnIDIsForOneAct", anIDIsForOneAct},
		{"PausingTwiceIsPausingOnce", pausingTwiceIsPausingOnce},
		{"RequestsHaveAnOrder", requestsHaveAnOrder},
		{"ConcurrentRequestsAreAllKept", concurrentRequestsAreAllKept},
		{"ABackfillTakesRoomForItsTicks", aBackfillTakesRoomForItsTicks},
		{"ThePauseAfterCounts", thePauseAfterCounts},
		{"TargetsAreApart", targetsAreApart},
		{"AuditNewestFirst", auditNewestFirst},
		{"ANoteIsInTheAuditLogOnly", aNoteIsInTheAuditLogOnly},
		{"BadActsAreRefused", badActsAreRefused},
		{"OpenRequestsAreBounded", openRequestsAreBounded},
		{"ConcurrentRequestsShareTheBound", concurrentRequestsShareTheBound},
		{"PausesAreBounded", pausesAreBounded},
		{"EndedContextIsAnError", actsEndedContextIsAnError},
	}
}

// actsBench is one fresh cluster under test.
type actsBench struct {
	testing.TB
	ActsBackend
	acts.Store
}

func (b *actsBench) do(act acts.Act) acts.Act {
	b.Helper()
	got, err := b.Do(b.Context(), act)
	if err != nil {
		b.Fatalf("Do(%+v) = %v", act, err)
	}
	return got
}

func (b *actsBench) open() acts.Open {
	b.Helper()
	open, err := b.Open(b.Context())
	if err != nil {
		b.Fatalf("Open = %v", err)
	}
	return open
}

func (b *actsBench) close(id, result string) {
	b.Helper()
	if err := b.Close(b.Context(), id, result); err != nil {
		b.Fatalf("Close(%s) = %v", id, err)
	}
}

func (b *actsBench) audit(limit int) []acts.Act {
	b.Helper()
	list, err := b.Audit(b.Context(), limit)
	if err != nil {
		b.Fatalf("Audit = %v", err)
	}
	return list
}

// wantIDs compares acts by their ids.
func (b *actsBench) wantIDs(what string, got []acts.Act, want ...string) {
	b.Helper()
	var have []string
	for _, a := range got {
		have = append(have, a.ID)
	}
	if len(have) != len(want) {
		b.Fatalf("%s lists %q, want %q", what, have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			b.Fatalf("%s lists %q, want %q", what, have, want)
		}
	}
}

// trigger is a request with the given id.
func trigger(id, job string) acts.Act {
	return acts.Act{ID: id, Kind: acts.Trigger, Job: job, By: "ann@laptop", Reason: "try it"}
}

func pause(id, reason string) acts.Act {
	return acts.Act{ID: id, Kind: acts.Pause, By: "ann@laptop", Reason: reason}
}

// past is a day of the past.
func past(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }
