package failover_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
)

func TestMain(m *testing.M) {
	if campaigntest.IsProgram() {
		r := jobs.NewRegistry()
		execjob.Register(r)
		jobs.Register(r, "transfer", transfer)
		cmd.Main(r)
	}
	logging.Disable() // of go-redis
	os.Exit(m.Run())
}

// onPostgres configures a campaign on the database at the URL.
func onPostgres(c *campaigntest.Campaign, url, jobs string) {
	c.Helper()
	c.Configure(fmt.Sprintf(`postgres: {url: %q, failover_grace: %s, timeout: %s}`, url, campaigntest.Grace, campaigntest.Timeout), jobs)
	c.Must("store", "migrate")
}
