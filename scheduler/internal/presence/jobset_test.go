package presence

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/roster"
)

// heldSets are roster.JobSets that count calls.
type heldSets struct {
	mu              sync.Mutex
	kept            map[string][]byte
	renewed, stored int
	err             error
}

func (s *heldSets) RenewSet(_ context.Context, hash string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed++
	return s.kept[hash] != nil, s.err
}

func (s *heldSets) KeepSet(_ context.Context, hash string, packed []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.stored++
	s.kept[hash] = packed
	return s.err
}

func (s *heldSets) JobSet(context.Context, string) ([]byte, error) { return nil, roster.ErrNoJobSet }

// answer makes all later calls fail, or none.
func (s *heldSets) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// counts returns the number of renewals and stores since its last call.
func (s *heldSets) counts() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := [2]int{s.renewed, s.stored}
	s.renewed, s.stored = 0, 0
	return n
}

// One replica stores the set; the others and all later ones renew it. After a failure it is
// soon tried again.
func TestOneReplicaKeepsASet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sets := &heldSets{}
		begin := func(id string) *Publisher {
			p := New(id, "", &rollCall{}, sets, time.Now, 5*time.Second)
			p.Serve([]*job.Job{
				{Job: jobs.Job{Name: "b", Key: "b", Hash: "1", Settings: func() any { return map[string]any{"n": 12345678901234567} }}},
				{Job: jobs.Job{Name: "z", Key: "a", Hash: "2", Func: "exec", Spec: "@daily"}},
			})
			go p.Run(t.Context())
			return p
		}
		want := func(what string, renewed, stored int) {
			t.Helper()
			synctest.Wait()
			if got := sets.counts(); got != [2]int{renewed, stored} {
				t.Errorf("%s: renewed and stored %v times, want %d and %d", what, got, renewed, stored)
			}
		}
		first := begin("a")
		want("the first", 1, 1)
		set, err := roster.UnpackJobs(sets.kept[first.Serving().Hash])
		if err != nil || set.Count != 2 || len(set.Jobs) != 2 || set.Jobs[0].Name != "z" || set.Jobs[0].Key != "a" {
			t.Fatalf("it keeps %+v, %v", set, err)
		}
		if got := set.Jobs[1].Settings.(map[string]any)["n"]; got != json.Number("12345678901234567") {
			t.Errorf("a number became %v", got)
		}
		if got := set.Jobs[0].Settings.(map[string]any)["schedule"]; got != "@daily" {
			t.Errorf("the schedule is %v", got)
		}
		begin("b")
		want("the second", 1, 0)
		time.Sleep(served.PublishEvery)
		want("after a while", 2, 0)
		sets.answer(errors.New("no quorum"))
		first.Serve([]*job.Job{{Job: jobs.Job{Name: "b", Key: "b", Hash: "2"}}})
		want("without a quorum", 1, 0)
		sets.answer(nil)
		time.Sleep(5 * time.Second)
		want("when it is back", 1, 1)
	})
}
