package zookeeper

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/stores/zookeeper/internal/history"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

func TestMain(m *testing.M) {
	if campaigntest.IsProgram() {
		r := jobs.NewRegistry()
		execjob.Register(r)
		cmd.Main(r, recorded{new(Store), os.Getenv(historyDir)})
	}
	os.Exit(m.Run())
}

// historyDir tells the programs of a campaign where they record what they ask ZooKeeper.
const historyDir = "QUORATE_CAMPAIGN_HISTORY"

// recorded is a store whose calls are recorded in a directory.
type recorded struct {
	*Store
	dir string
}

func (s recorded) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	r, err := history.NewRecorder(s.dir)
	if err != nil {
		return nil, err
	}
	e := open(cluster)
	e.client.Wrap = r.Wrap
	return e, nil
}

// judge says at the campaign's end whether ZooKeeper kept its promises. If not, or if the campaign has
// failed, its errors say who is to blame.
func judge(c *campaigntest.Campaign, dir string) {
	calls, err := history.Load(dir)
	if err != nil {
		c.Error(err)
	}
	v := history.Judge(calls)
	c.Log(v)
	for _, b := range v.Broken[:min(len(v.Broken), 10)] {
		c.Error(b)
	}
	switch {
	case v.Acknowledged == 0 || v.Reads == 0:
		c.Error("the campaign has recorded no history")
	case len(v.Broken) > 0:
		c.Errorf("from %s on ZooKeeper is to blame: what it answered contradicts itself", v.Broken[0].Shows().Format(time.TimeOnly))
	case c.Failed():
		c.Error("ZooKeeper is not to blame: what it answered agrees, so look for the bug in the adapter, or above it")
	}
}

// TestCampaign kills, freezes and cuts off members and replicas. No tick runs twice, tokens
// grow, and the ledger is true.
func TestCampaign(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 3, zookeepertest.Options{Divisible: true})
	c := campaigntest.New(t)
	dir := t.ArtifactDir()                             // -artifacts keeps the histories
	if err := os.Setenv(historyDir, dir); err != nil { //nolint:usetesting // a parallel test cannot, and no other one starts programs
		t.Fatal(err)
	}
	t.Cleanup(func() { judge(c, dir) }) // after all processes have ended
	c.Facts.Clockless = true
	section := func(servers []string) string {
		return fmt.Sprintf("zookeeper: {servers: ['%s'], timeout: %s}\ndefaults: {history: {keep: 1000}}", strings.Join(servers, "', '"), campaigntest.Timeout)
	}
	c.Configure(section(e.Servers()), c.Commands())
	c.ConfigureOutsider(section(e.SideServers()), c.Commands())
	c.Begin()
	var members []campaigntest.Member
	for _, m := range e.Members {
		members = append(members, m)
	}
	faults := c.MemberFaults(members, func() int { return e.Leader(t) })
	if !length.Whole() { // several in a row may meet a bug of ZooKeeper 3.8.0: docs/zookeeper.md
		faults = faults[c.Rand.IntN(len(faults)):][:1]
	}
	c.Storm(length.Of(1, 5), slices.Concat(c.ReplicaFaults(), faults))
	c.Finish()
}
