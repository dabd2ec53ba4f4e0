package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// names returns the published names of each message, sorted.
func (r *rollCall) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, list := range r.published {
		var names []string
		for _, j := range list {
			names = append(names, j.Name+"/"+j.Hash)
		}
		slices.Sort(names)
		all = append(all, fmt.Sprint(names))
	}
	return all
}

// A replica without a roster stores nothing for publication.
func TestNothingIsKeptToBePublishedToNobody(t *testing.T) {
	t.Parallel()
	p := New("r1", "", nil, nil, time.Now, 5*time.Second)
	p.Serve([]*job.Job{{Job: jobs.Job{Name: "a", Key: "a", Hash: "1"}}})
	if kept := len(p.pending) + len(p.begun); kept > 0 || !p.Serves("a") {
		t.Errorf("%d notes are kept of what is to be published, and a is served: %t", kept, p.Serves("a"))
	}
}

// TestPublisher: changes are published at once, everything every five minutes, and failures
// soon again, with the then current state.
func TestPublisher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &rollCall{}
		const retry = 5 * time.Second
		p := New("r1", "", calls, nil, time.Now, retry)
		p.Account = func(map[string]time.Time) Accounts { return Accounts{First: time.Now()} }
		made := func(name, hash string) *job.Job {
			return &job.Job{Job: jobs.Job{Name: name, Key: name, Hash: hash}}
		}
		p.Serve([]*job.Job{made("a", "1"), made("b", "1")})
		first := p.Serving()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.Run(ctx)
		want := func(what string, messages ...string) {
			t.Helper()
			synctest.Wait()
			if got := calls.names(); !slices.Equal(got, messages) {
				t.Errorf("%s: published %v, want %v", what, got, messages)
			}
			calls.mu.Lock()
			calls.published = nil
			calls.mu.Unlock()
		}
		want("at the start", "[a/1 b/1]")
		p.Serve([]*job.Job{made("a", "2"), made("b", "1"), made("c", "1")})
		want("after a change", "[a/2 c/1]")
		second := p.Serving()
		if second.Hash == first.Hash || second.Jobs != 3 || first.Jobs != 2 {
			t.Errorf("first it serves %+v, then %+v", first, second)
		}
		time.Sleep(time.Second)
		p.Serve([]*job.Job{made("a", "2"), made("b", "1"), made("c", "1")})
		if again := p.Serving(); again != second {
			t.Errorf("the same set is served since %v, not %v", again.Since, second.Since)
		}
		time.Sleep(served.PublishEvery)
		want("after a while", "[a/2 b/1 c/1]")
		calls.answer(nil, errors.New("no quorum"))
		p.Serve([]*job.Job{made("a", "3"), made("b", "1")})
		want("without a quorum")
		p.Serve([]*job.Job{made("a", "4"), made("b", "2")})
		calls.answer(nil, nil)
		time.Sleep(retry)
		want("when the quorum is back", "[a/4 b/2]", "[c/1]") // which was removed
	})
}
