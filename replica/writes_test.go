package replica

import (
	"io"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// A replica is not ready while too few nodes take writes, or the one Redis does not: at its start,
// and when a heartbeat has found it out. Its nodes say so, and it is ready soon after they take
// them again.
func TestReadyMeansThatNodesTakeWrites(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		servers := redistest.StartN(t, n)
		redis := settings.Redis{Nodes: settings.Nodes(redistest.URLs(servers)...)}
		if n == 1 {
			redis = settings.Redis{URL: settings.Secret(servers[0].URL())}
		}
		memory := func(most string) {
			t.Helper()
			for _, s := range servers[:n/2+1] {
				if err := s.Client().ConfigSet(t.Context(), "maxmemory", most).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		run := func() *Replica {
			t.Helper()
			r, err := New(Config{Replica: settings.Replica{ID: "a"}, Redis: redis, Logger: logTo(io.Discard), Jobs: []jobs.Job{{Name: "j", Spec: "0 0 1 1 *", Handler: new(ranTicks).run}}})
			if err != nil {
				t.Fatal(err)
			}
			stop := start(t.Context(), r)
			t.Cleanup(func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
			return r
		}
		says := func(r *Replica, want string) {
			t.Helper()
			eventually(t, want, func() bool { return strings.Contains(strings.Join(r.NotReady(), ""), want) })
		}
		const new, full = "restart grace", "it answers, but takes no writes, so it grants no ticks: it is out of memory"
		r := run()
		says(r, new)
		memory("1")
		says(r, full)
		if row := view.NodeRows(r.store.Inspect(t.Context()), true)[0]; row.State != view.NodeRefusing || !strings.Contains(view.Text(row.Error), "takes no writes") {
			t.Errorf("the first of %d nodes is %s: %s", n, row.State, view.Text(row.Error))
		}
		late := run()
		says(late, full)
		memory("0")
		says(r, new)
		says(late, new)
	}
}
