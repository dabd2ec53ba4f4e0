package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A store that was declared new remembers all; one in another incarnation, what came since; and as
// long as no replica has noted that incarnation, nothing from before.
func TestRemembersSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		wants := func(what string, want time.Time) {
			t.Helper()
			if _, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 1}); err != nil {
				t.Fatal(err)
			}
			if since, known := c.RemembersSince(); !known || !since.Equal(want) {
				t.Errorf("%s: it remembers since %v, %t, want %v", what, since, known, want)
			}
		}
		if since, known := c.RemembersSince(); known {
			t.Errorf("before any answer it remembers since %v", since)
		}
		wants("new", time.Time{})
		c.Restore(c.Backup())
		time.Sleep(time.Minute)
		wants("another incarnation", time.Now())
		noted := time.Now()
		commit(t, c.Memory, kv.Txn{Put: []kv.Write{
			records.Put(records.IncarnationKey(), records.Incarnation{ID: incarnation(t, c.Memory), Since: noted.UnixMilli()}),
		}})
		time.Sleep(time.Hour)
		wants("noted", noted)
	})
}
