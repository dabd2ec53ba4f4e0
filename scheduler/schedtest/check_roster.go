package schedtest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// rosterBench is one fresh cluster on trial.
type rosterBench struct {
	testing.TB
	RosterBackend
	scheduler.Roster
}

// replica is one that beats.
func (b *rosterBench) replica(id string) scheduler.Replica {
	return scheduler.Replica{
		ID: id, Version: "v1.2.3", Host: "host-" + id, PID: 42, State: "ready",
		Started: time.UnixMilli(1_700_000_000_123).UTC(), Running: []string{"nightly"}, ConfigHash: "abc",
	}
}

func (b *rosterBench) beat(id string) []scheduler.Replica {
	b.Helper()
	list, err := b.Beat(b.Context(), b.replica(id))
	if err != nil {
		b.Fatalf("Beat(%s) = %v", id, err)
	}
	return list
}

func (b *rosterBench) replicas() []scheduler.Replica {
	b.Helper()
	list, err := b.Replicas(b.Context())
	if err != nil {
		b.Fatalf("Replicas = %v", err)
	}
	return list
}

func (b *rosterBench) want(what string, got []scheduler.Replica, ids ...string) {
	b.Helper()
	var have []string
	for _, r := range got {
		have = append(have, r.ID)
	}
	if !reflect.DeepEqual(have, ids) {
		b.Errorf("%s lists %v, want %v", what, have, ids)
	}
}

func beatAnnounces(b *rosterBench) {
	b.want("Replicas", b.replicas())
	before := time.Now().Truncate(time.Millisecond)
	b.want("Beat", b.beat("b"), "b")
	b.want("Beat", b.beat("a"), "a", "b")
	b.beat("b")
	after, list := time.Now(), b.replicas()
	b.want("Replicas", list, "a", "b")
	for _, got := range list {
		if got.Seen.Before(before) || got.Seen.After(after) {
			b.Errorf("Seen = %v, want the time of the beat, between %v and %v", got.Seen, before, after)
		}
		want := b.replica(got.ID)
		want.Seen = got.Seen
		if !reflect.DeepEqual(got, want) {
			b.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func silentReplicaIsForgotten(b *rosterBench) {
	b.beat("quiet")
	for range tries {
		b.Wait(b.Lately / 10)
		list := b.beat("lively")
		if len(list) == 1 {
			b.want("Beat", list, "lively")
			b.want("Replicas", b.replicas(), "lively")
			return
		}
	}
	b.Errorf("a replica that fell silent is still listed: %+v", b.replicas())
}

func leaveTakesOff(b *rosterBench) {
	b.beat("a")
	b.beat("b")
	for range 2 { // leaving again is harmless
		if err := b.Leave(b.Context(), "a"); err != nil {
			b.Fatalf("Leave = %v", err)
		}
	}
	b.want("Replicas", b.replicas(), "b")
}

func publishReplacesByName(b *rosterBench) {
	job := func(name, spec string, minute int) scheduler.JobInfo {
		return scheduler.JobInfo{
			Name: name, Func: "exec", Schedule: spec, Timezone: "UTC", Description: "does " + name,
			Replica: "a", Published: time.Unix(int64(minute)*60, 0).UTC(),
		}
	}
	for _, jobs := range [][]scheduler.JobInfo{
		{},
		{job("b", "@daily", 1), job("a", "@hourly", 1)},
		{job("c", "@weekly", 2), job("a", "@monthly", 2)},
	} {
		if err := b.Publish(b.Context(), jobs); err != nil {
			b.Fatalf("Publish = %v", err)
		}
	}
	got, err := b.Jobs(b.Context())
	if err != nil {
		b.Fatalf("Jobs = %v", err)
	}
	want := []scheduler.JobInfo{job("a", "@monthly", 2), job("b", "@daily", 1), job("c", "@weekly", 2)}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("Jobs =\n%+v, want\n%+v", got, want)
	}
}

func rosterEndedContextIsAnError(b *rosterBench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	_, beat := b.Beat(ctx, b.replica("a"))
	_, replicas := b.Replicas(ctx)
	_, jobs := b.Jobs(ctx)
	for what, err := range map[string]error{
		"Beat": beat, "Replicas": replicas, "Jobs": jobs,
		"Leave": b.Leave(ctx, "a"), "Publish": b.Publish(ctx, []scheduler.JobInfo{{Name: "a"}}),
	} {
		if err == nil {
			b.Errorf("%s under a cancelled context = nil, want an error", what)
		}
	}
}
