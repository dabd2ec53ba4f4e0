package browser_test

import (
	"os"
	"testing"

	"github.com/quorate/quorate/cmd"
)

// actAsReplica is the variable that makes this binary a service with jobs of its own.
const actAsReplica = "QUORATE_TEST_REPLICA"

func TestMain(m *testing.M) {
	if os.Getenv(actAsReplica) != "" {
		cmd.Main(registry(), programStores()...)
	}
	os.Exit(m.Run())
}
