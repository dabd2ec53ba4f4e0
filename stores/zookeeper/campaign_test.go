package zookeeper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

func TestMain(m *testing.M) {
	if campaigntest.IsProgram() {
		r := jobs.NewRegistry()
		execjob.Register(r)
		cmd.Main(r, new(Store))
	}
	os.Exit(m.Run())
}

// TestCampaign kills, freezes and cuts off members and replicas. No tick runs twice, tokens
// grow, and the ledger is true.
func TestCampaign(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 3, zookeepertest.Options{Divisible: true})
	c := campaigntest.New(t)
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
	faults := slices.Concat(c.ReplicaFaults(), c.MemberFaults(members, func() int { return e.Leader(t) }))
	c.Rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	c.Storm(length.Of(0, 5*time.Minute), faults[:length.Of(4, len(faults))]) // CI has etcd, too
	c.Finish()
}
