package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/length"
)

// TestCampaign kills, freezes and drains replicas, and replaces their file. No tick runs twice,
// tokens grow, and the ledger is true.
func TestCampaign(t *testing.T) {
	if !length.Whole() {
		t.Skip("it is part of the proof")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quorate.db")
	c := campaigntest.New(t)
	c.Store, c.Facts.Promoted = new(Store), true
	c.Configure(fmt.Sprintf("sqlite: {path: %s, timeout: %s, restore_grace: %s}\ndefaults: {history: {keep: 1000}}", path, campaigntest.Timeout, campaigntest.Grace), c.Commands())
	c.Begin()
	c.Storm(length.Of(1, 5), slices.Concat(c.ReplicaFaults(), fileFaults(c, path)))
	c.Finish()
}

// fileFaults are what people do to the files while replicas run.
func fileFaults(c *campaigntest.Campaign, path string) []campaigntest.Fault {
	within := func(do func()) {
		do()
		c.Healed()
		c.AwaitRun()
	}
	return []campaigntest.Fault{
		{What: "backups restored", Do: func() {
			from := time.Now()
			backup(c.T, path, path+".backup")
			c.Wait(c.UpTo(3 * time.Second))
			within(func() {
				rename(c.T, path+".backup", path)
				c.Facts.Lost = append(c.Facts.Lost, checker.Span{From: from, To: time.Now()})
			})
		}},
		{What: "-wal and -shm deleted", Do: func() { within(func() { remove(c.T, path+walEnd, path+shmEnd) }) }},
		{What: "-shm deleted", Do: func() { within(func() { remove(c.T, path+shmEnd) }) }},
	}
}
