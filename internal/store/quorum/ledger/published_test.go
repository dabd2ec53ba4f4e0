package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/scheduler/roster"
)

// However many jobs there are, a node lists a few at once, and all in the end.
func TestJobsAreListedInPages(t *testing.T) {
	t.Parallel()
	const n = 3 * listAtOnce
	c := connect(t, redistest.Servers(redistest.StartN(t, 3)))
	var list []roster.JobInfo
	for i := range n {
		list = append(list, roster.JobInfo{Name: fmt.Sprintf("job-%05d", i), Hash: "1", Schedule: "@daily", Published: time.Now()})
	}
	if err := c.Publish(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, reply := range c.set.Call(t.Context(), c.lua.published, []string{c.set.Key("jobs")}, listing.KeepJobs.Milliseconds(), "0", listAtOnce) {
		if some := len(reply.Args) / 2; reply.Err != nil || some > 2*listAtOnce {
			t.Errorf("%s lists %d of %d jobs at once (%v), want about %d", reply.Node, some, n, reply.Err, listAtOnce)
		}
	}
	got, err := c.Jobs(t.Context())
	if err != nil || len(got) != n {
		t.Fatalf("%d jobs are listed, %v; want %d", len(got), err, n)
	}
	for i, j := range got {
		if j.Name != list[i].Name {
			t.Fatalf("job %d is %s, want %s", i, j.Name, list[i].Name)
		}
	}
}
