package etcd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
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
	cluster := etcdtest.StartDivisible(t, 3)
	c := campaigntest.New(t)
	c.Store, c.Facts.Clockless = new(Store), true
	section := func(urls []string) string {
		return fmt.Sprintf("etcd: {endpoints: [%s], timeout: %s}\ndefaults: {history: {keep: 1000}}", strings.Join(urls, ", "), campaigntest.Timeout)
	}
	c.Configure(section(cluster.URLs()), c.Commands())
	c.ConfigureOutsider(section(cluster.SideURLs()), c.Commands())
	c.Begin()
	var members []campaigntest.Member
	for _, m := range cluster.Members {
		members = append(members, m)
	}
	c.Storm(length.Of(1, 5), slices.Concat(c.ReplicaFaults(), c.MemberFaults(members, func() int { return cluster.Leader(t) })))
	c.Finish()
}
