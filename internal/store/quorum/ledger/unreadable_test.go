package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Beside values that cannot be read on any node, everything else is listed, and they as what they are.
func TestUnreadableRecordsHarmOnlyThemselves(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	on := redistest.MiniN(t, 3).Cluster()
	c := connect(t, on)
	c.Unreadable = new(unreadable.Log)
	if err := c.Publish(ctx, []roster.JobInfo{{Name: "job", Hash: "h"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Beat(ctx, roster.Replica{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	e := skipped("job", 1, "busy")
	e.Tick = tick(1)
	if _, err := c.Record(ctx, e); err != nil {
		t.Fatal(err)
	}
	bad := []string{
		"Fschedule|not JSON", `Fschedule|{"v":1,"t":"x"}`, "garbage", `Nschedule|p{"v":9}`,
		fmt.Sprintf(`Fschedule|{"v":1,"t":%d,"k":7,"n":{"tick":"abc"}}`, tick(3).UnixMilli()),
	}
	for _, u := range on.URLs {
		opt, err := redis.ParseURL(u)
		if err != nil {
			t.Fatal(err)
		}
		opt.Dialer = on.Dial
		node := redis.NewClient(opt)
		t.Cleanup(func() { _ = node.Close() })
		for i, text := range bad {
			at := min(3, i+2)
			if err := node.ZAdd(ctx, c.set.JobKey("job", "runs"), redis.Z{Score: float64(tick(at).UnixMilli()), Member: text}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now().UnixMilli()
		for key, text := range map[string]string{"jobs": fmt.Sprintf("%d|0,0,0,0|", now), "replicas": fmt.Sprintf("%d|", now)} {
			if err := node.HSet(ctx, c.set.Key(key), "bad", text+"[]", "null", text+"null", "empty", text+"{}").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		ticks, err := c.Ticks(ctx, ledger.Query{Job: "job", Limit: 10})
		if err != nil || len(ticks) != 3 || ticks[0].Outcome != ledger.Unreadable || ticks[1].Outcome != ledger.Unreadable || ticks[2].Outcome != ledger.Skipped {
			t.Errorf("ticks: %+v, %v", ticks, err)
		}
		runs, err := c.Runs(ctx, ledger.Query{Job: "job", Limit: 10})
		if err != nil || len(runs) != 1 || runs[0].Token != 7 || runs[0].Outcome != ledger.Unreadable {
			t.Errorf("runs: %+v, %v", runs, err)
		}
		skimmed, err := c.Skim(ctx, []ledger.Stretch{{Job: "job", Limit: 10}}, true)
		if err != nil || len(skimmed[0].Entries) != 3 {
			t.Errorf("skimmed: %+v, %v", skimmed, err)
		}
		if list, err := c.Jobs(ctx); err != nil || len(list) != 1 {
			t.Errorf("jobs: %+v, %v", list, err)
		}
		if list, err := c.Replicas(ctx); err != nil || len(list) != 1 {
			t.Errorf("replicas: %+v, %v", list, err)
		}
	}
	if n, _ := c.Unreadable.Count(); n < 11 {
		t.Errorf("%d values were noted", n)
	}
}
