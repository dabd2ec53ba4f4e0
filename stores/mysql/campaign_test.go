package mysql

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

func TestMain(m *testing.M) {
	if campaigntest.IsProgram() {
		r := jobs.NewRegistry()
		execjob.Register(r)
		jobs.Register(r, "transfer", transfer)
		cmd.Main(r, new(Store))
	}
	os.Exit(m.Run())
}

// configure prepares a campaign with the rights of a replica, at the address that leads to the primary.
func configure(c *campaigntest.Campaign, on *mysqltest.Server) {
	c.Helper()
	c.Store = new(Store)
	section := func(addr string) string {
		return fmt.Sprintf("mysql: {url: 'mysql://replica:Geheim1@%s', failover_grace: %s, timeout: %s}", addr, campaigntest.Grace, campaigntest.Timeout)
	}
	migrate(c.T, on, "campaign")
	on.Exec(c.T, "CREATE USER replica IDENTIFIED BY 'Geheim1'", Grants("campaign", "replica"))
	c.Configure(section(on.Addr()), c.Commands())
	c.ConfigureOutsider(section(on.SideAddr()), c.Commands())
}

// TestCampaign kills, freezes and cuts off the server and replicas. No tick runs twice, tokens grow, and
// the ledger is true.
func TestCampaign(t *testing.T) {
	if !length.Whole() {
		t.Skip("it is part of the proof")
	}
	t.Parallel()
	on := mysqltest.Start(t)
	c := campaigntest.New(t)
	configure(c, on)
	c.Begin()
	c.Storm(length.Of(1, 5), slices.Concat(c.ReplicaFaults(), c.MemberFaults([]campaigntest.Member{on}, func() int { return 0 })))
	c.Finish()
}

// TestPromotions ends the primary and promotes its asynchronous replica, which may lack commits, again and
// again. The old primary is dead before, or has been fenced. No tick runs twice, and the ledger is true.
func TestPromotions(t *testing.T) {
	if !length.Whole() {
		t.Skip("it is part of the proof")
	}
	t.Parallel()
	promote(t, length.Of(2, 50))
}

// TestPromotionsSemiSync does so with a replica for which commits wait. No run is forgotten.
func TestPromotionsSemiSync(t *testing.T) {
	if !length.Whole() {
		t.Skip("it is part of the proof")
	}
	t.Parallel()
	promote(t, length.Of(1, 50), mysqltest.SemiSync()...)
}

func promote(t *testing.T, times int, settings ...string) {
	t.Helper()
	primary := mysqltest.Start(t, settings...)
	p := &promotions{Campaign: campaigntest.New(t), address: primary, primary: primary, semiSync: settings != nil}
	configure(p.Campaign, primary)
	p.replica = primary.Replica(t)
	p.Begin()
	for n := range times {
		p.failover(n)
		if n == times/2 {
			p.CheckReads()
		}
	}
	p.Finish()
}

// A promotions is a campaign on a primary and its replica, which change places.
type promotions struct {
	*campaigntest.Campaign
	address          *mysqltest.Server // the one whose address leads to the primary
	primary, replica *mysqltest.Server
	semiSync         bool
}

// failover lets ticks run, ends the primary, and promotes the replica. The old primary becomes the new
// replica.
func (p *promotions) failover(n int) {
	p.Helper()
	p.Wait(p.UpTo(2 * time.Second))
	last := time.Now()
	p.primary.AwaitReplica(p.T, p.replica)
	ids := campaigntest.IDs()
	p.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	wake := p.Replicas[ids[0]].Freeze() // it has not seen what the others claim, and tries later
	if !p.semiSync && n%4 != 3 {
		p.Note("replicas of the server cut off")
		p.replica.CutOff(p.T)
		p.Wait(2*time.Second + p.UpTo(time.Second/2))
	}
	if n%2 == 1 {
		p.Note("primaries fenced")
		p.primary.Fence(p.T)
	} else {
		p.Note("primaries killed")
	}
	silent := time.Now()
	p.primary.Kill(p.T)
	p.Wait(p.UpTo(time.Second))
	p.replica.Promote(p.T)
	p.Facts.Promoted = true
	if !p.semiSync {
		p.Facts.Lost = append(p.Facts.Lost, checker.Span{From: last, To: silent})
	}
	p.address.Front().Target(p.replica.SideAddr())
	p.address.Front().Break()
	p.Healed()
	wake()
	p.primary.Follow(p.T, p.replica)
	p.primary, p.replica = p.replica, p.primary
	p.AwaitRun()
}
