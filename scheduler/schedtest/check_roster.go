package schedtest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// rosterBench is one fresh cluster under test.
type rosterBench struct {
	testing.TB
	RosterBackend
	roster.Roster
}

// replica returns a replica for heartbeats.
func (b *rosterBench) replica(id string) roster.Replica {
	return roster.Replica{
		ID: id, Version: "v1.2.3", Host: "host-" + id, PID: 42, State: "ready",
		Started: time.UnixMilli(1_700_000_000_123).UTC(), Running: []string{"nightly"}, ConfigHash: "abc",
	}
}

func (b *rosterBench) beat(id string) []roster.Replica {
	b.Helper()
	list, err := b.Beat(b.Context(), b.replica(id))
	if err != nil {
		b.Fatalf("Beat(%s) = %v", id, err)
	}
	return list
}

func (b *rosterBench) replicas() []roster.Replica {
	b.Helper()
	list, err := b.Replicas(b.Context())
	if err != nil {
		b.Fatalf("Replicas = %v", err)
	}
	return list
}

func (b *rosterBench) want(what string, got []roster.Replica, ids ...string) {
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

// lostReplicaIsRemembered: who falls silent is listed as lost, who leaves is not.
func lostReplicaIsRemembered(b *rosterBench) {
	memory, ok := b.Roster.(interface {
		Remembered(ctx context.Context) ([]roster.Replica, error)
	})
	if !ok {
		b.Skip("the roster remembers nobody")
	}
	b.beat("quiet")
	b.beat("left")
	if err := b.Leave(b.Context(), b.replica("left")); err != nil {
		b.Fatalf("Leave = %v", err)
	}
	for range tries {
		b.Wait(b.Lately / 10)
		if len(b.beat("lively")) == 1 {
			break
		}
	}
	list, err := memory.Remembered(b.Context())
	if err != nil {
		b.Fatalf("Remembered = %v", err)
	}
	b.want("Remembered", list, "lively", "quiet")
	if len(list) == 2 && (list[0].State != roster.StateReady || list[1].State != roster.StateLost || list[1].Running != nil) {
		b.Errorf("Remembered = %+v, want quiet to be lost", list)
	}
	b.want("Replicas", b.replicas(), "lively")
	b.beat("quiet")
	if list, err = memory.Remembered(b.Context()); err != nil || len(list) != 2 || list[1].State != roster.StateReady {
		b.Errorf("Remembered = %+v, %v, want quiet to be back", list, err)
	}
}

// leftReplicaIsListed: who leaves is listed as left, by its last process, and on no other list.
func leftReplicaIsListed(b *rosterBench) {
	memory, ok := b.Roster.(interface {
		Left(ctx context.Context) ([]roster.Replica, error)
		Remembered(ctx context.Context) ([]roster.Replica, error)
	})
	if !ok {
		b.Skip("the roster remembers nobody")
	}
	var began time.Time
	for _, of := range []string{"a 1", "b 1", "a 2"} {
		r := b.replica(of[:1])
		r.Instance = of[2:]
		if _, err := b.Beat(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		b.Wait(20 * time.Millisecond)
		began = time.Now().Round(0)
		if err := b.Leave(b.Context(), r); err != nil {
			b.Fatalf("Leave = %v", err)
		}
	}
	b.beat("lively")
	list, err := memory.Left(b.Context())
	if err != nil {
		b.Fatalf("Left = %v", err)
	}
	b.want("Left", list, "a", "b")
	if len(list) == 2 {
		want := b.replica("a")
		want.Instance, want.State, want.Running, want.Seen = "2", roster.StateLeft, nil, list[0].Seen
		if !reflect.DeepEqual(list[0], want) || list[0].Seen.Before(began) || list[0].Seen.After(time.Now()) {
			b.Errorf("Left = %+v, want %+v, from %v on", list[0], want, began)
		}
	}
	b.want("Replicas", b.replicas(), "lively")
	if list, err = memory.Remembered(b.Context()); err != nil {
		b.Fatalf("Remembered = %v", err)
	}
	b.want("Remembered", list, "lively")
}

func leaveTakesOff(b *rosterBench) {
	b.beat("a")
	b.beat("b")
	for range 2 { // leaving again is harmless
		if err := b.Leave(b.Context(), b.replica("a")); err != nil {
			b.Fatalf("Leave = %v", err)
		}
	}
	b.want("Replicas", b.replicas(), "b")
}

// Two live processes under one id are two, and if one leaves the other stays. One that another has
// succeeded is gone at once.
func processesUnderOneID(b *rosterBench) {
	first, second := b.replica("a"), b.replica("a")
	first.Instance, second.Instance = "1", "2"
	first.Started, second.Started = time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
	for _, r := range []roster.Replica{first, second} {
		if _, err := b.Beat(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	b.want("Replicas", b.replicas(), "a", "a")
	if err := b.Leave(b.Context(), first); err != nil {
		b.Fatal(err)
	}
	if list := b.replicas(); len(list) != 1 || list[0].Instance != "2" {
		b.Errorf("after one has left, Replicas lists %+v, want the other", list)
	}
	third := b.replica("a")
	third.Instance, third.Started = "3", time.Now().Add(time.Hour)
	list, err := b.Beat(b.Context(), third)
	if err != nil || len(list) != 1 || list[0].Instance != "3" {
		b.Errorf("after the process was started again, Beat lists %+v, %v", list, err)
	}
}

// versionOf is a version of a job that replica a published at the given minute.
func versionOf(name, hash string, minute int) roster.JobInfo {
	return roster.JobInfo{
		Name: name, Hash: hash, Key: "first-" + name, Func: "exec", Schedule: "@daily", Timezone: "UTC",
		Description: "does " + name, Replica: "a", ConfigHash: "c1", Published: time.Unix(int64(minute)*60, 0).UTC(),
	}
}

func (b *rosterBench) publish(jobs ...roster.JobInfo) {
	b.Helper()
	if err := b.Publish(b.Context(), jobs); err != nil {
		b.Fatalf("Publish = %v", err)
	}
}

// jobs lists the jobs, which were published since a time; it checks their ages and removes them.
func (b *rosterBench) jobs(since time.Time) []roster.JobInfo {
	b.Helper()
	list, err := b.Jobs(b.Context())
	if err != nil {
		b.Fatalf("Jobs = %v", err)
	}
	oldest := time.Since(since) + time.Second // clocks differ
	for i := range list {
		if age := list[i].Age; age < 0 || age > oldest {
			b.Errorf("%s is %v old, want at most %v", list[i].Name, age, oldest)
		}
		list[i].Age = 0
	}
	return list
}

func publishReplacesVersions(b *rosterBench) {
	v, begun := versionOf, time.Now()
	b.publish()
	b.publish(v("b", "2", 1), v("a", "1", 1), v("a", "2", 2))
	b.publish(v("c", "1", 2), v("a", "1", 3))
	got := b.jobs(begun)
	want := []roster.JobInfo{v("a", "1", 3), v("a", "2", 2), v("b", "2", 1), v("c", "1", 2)}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("Jobs =\n%+v, want\n%+v", got, want)
	}
}

// accountsAreMerged: in any order of publications, the earliest First stays and the latest
// of the other times.
func accountsAreMerged(b *rosterBench) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0).UTC() }
	with := func(hash string, a roster.Account) roster.JobInfo {
		v := versionOf("a", hash, 1)
		v.Account = a
		return v
	}
	begun := time.Now()
	b.publish(with("1", roster.Account{First: at(7), Until: at(8)}), with("2", roster.Account{}))
	b.publish(with("1", roster.Account{First: at(5), Removed: at(9)}))
	b.publish(with("1", roster.Account{First: at(6), Until: at(7), Stopped: at(8)}))
	b.publish(with("1", roster.Account{}))
	want := []roster.JobInfo{
		with("1", roster.Account{First: at(5), Until: at(8), Stopped: at(8), Removed: at(9)}),
		with("2", roster.Account{}),
	}
	if got := b.jobs(begun); !reflect.DeepEqual(got, want) {
		b.Errorf("Jobs =\n%+v, want\n%+v", got, want)
	}
}

func ageIsThatOfTheLastWord(b *rosterBench) {
	const pause = 200 * time.Millisecond
	b.publish(versionOf("a", "1", 1), versionOf("b", "1", 1))
	b.Wait(pause)
	again := time.Now()
	b.publish(versionOf("b", "1", 1))
	list, err := b.Jobs(b.Context())
	if err != nil || len(list) != 2 {
		b.Fatalf("Jobs = %v, %v", list, err)
	}
	const slack = 5 * time.Millisecond // clocks of nodes, and rounding
	if since := time.Since(again); list[0].Age < pause-slack || list[1].Age > since+slack {
		b.Errorf("ages %v and %v, want at least %v and at most %v", list[0].Age, list[1].Age, pause, since)
	}
}

func unpublishTakesVersionsOff(b *rosterBench) {
	v, begun := versionOf, time.Now()
	b.publish(v("a", "1", 1), v("a", "2", 1), v("b", "1", 1))
	for range 2 { // again is harmless
		if err := b.Unpublish(b.Context(), []roster.JobInfo{v("a", "1", 1), v("b", "1", 1), v("x", "1", 1)}); err != nil {
			b.Fatalf("Unpublish = %v", err)
		}
	}
	if got, want := b.jobs(begun), []roster.JobInfo{v("a", "2", 1)}; !reflect.DeepEqual(got, want) {
		b.Errorf("Jobs =\n%+v, want\n%+v", got, want)
	}
}

// moreThanOneMessage publishes more jobs than fit into one message.
func moreThanOneMessage(b *rosterBench) {
	var many []roster.JobInfo
	for i := range 1234 {
		many = append(many, versionOf(fmt.Sprintf("job-%04d", i), "1", 1))
	}
	begun := time.Now()
	b.publish(many...)
	if got := b.jobs(begun); !reflect.DeepEqual(got, many) {
		b.Errorf("%d jobs are listed of %d", len(got), len(many))
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
		"Leave": b.Leave(ctx, roster.Replica{ID: "a"}), "Publish": b.Publish(ctx, []roster.JobInfo{{Name: "a"}}),
		"Unpublish": b.Unpublish(ctx, []roster.JobInfo{{Name: "a"}}),
	} {
		if err == nil {
			b.Errorf("%s under a cancelled context = nil, want an error", what)
		}
	}
}
