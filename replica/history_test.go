package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestHistoryAfterAChangeOfTheList changes five nodes to three, of which two stay. Runs whose
// records were on the others are said to be lost, not missed.
func TestHistoryAfterAChangeOfTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 6)
		defer minis.Close()
		var noted notes
		of := func(urls ...string) (*config.Config, membership.Config) {
			cfg, err := config.Read(config.Source{
				Path: write(t, fmt.Sprintf("redis: {nodes: [%s]}\njobs:\n  j: {func: note, schedule: \"* * * * *\"}\n", strings.Join(urls, ", "))), Environ: []string{},
			}, noted.registry())
			if err != nil {
				t.Fatal(err)
			}
			cluster := nodesOf(t, cfg)
			cluster.Dial, cluster.Embedded = minis.Dial, true
			return cfg, cluster
		}
		urls := minis.URLs()
		five, old := of(urls[:5]...)
		three, next := of(urls[0], urls[1], urls[5])
		declare(t, old)
		begun := time.Now().UTC()
		first := startAll(t, five, &noted, minis)
		time.Sleep(20*time.Minute + 30*time.Second)
		minis.Stop(0) // so five ticks are known to those that leave only
		minis.Stop(1)
		time.Sleep(5 * time.Minute)
		minis.Start(0, true)
		minis.Start(1, true)
		time.Sleep(5 * time.Minute)
		first()
		if err := (membership.Change{From: old, To: next}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := startAll(t, three, &noted, minis)
		time.Sleep(10 * time.Minute)
		second()

		set, err := membership.Open(next)
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		set.LearnEpoch(t.Context())
		kept := quorumledger.New(set)
		list, err := view.Reader{Records: store.Records{Ledger: kept, Roster: kept}}.TicksOf(t.Context(), "j", ledger.Query{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		ran := noted.of("j")
		lost := 0
		slices.Reverse(list)
		for i, e := range list {
			if want := list[0].Tick.Add(time.Duration(i) * time.Minute); !e.Tick.Equal(want) {
				t.Errorf("line %d is of %v, want %v", i, e.Tick.Sub(begun), want.Sub(begun))
			}
			if !slices.ContainsFunc(ran, e.Tick.Equal) || e.Ran() {
				continue
			}
			if lost++; e.Reason.Code != ledger.CodeHistoryLost || !e.Computed {
				t.Errorf("tick %v ran, and is %s: %v", e.Tick.Sub(begun), e.Outcome, e.Reason)
			}
		}
		if lost == 0 || len(list) < 30 {
			t.Errorf("%d of %d ticks are lost: the test shows nothing", lost, len(list))
		}
	})
}
