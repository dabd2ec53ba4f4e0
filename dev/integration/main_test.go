package integration_test

import (
	"os"
	"testing"
)

// TestMain lets a test start this binary again as a holder of leases.
func TestMain(m *testing.M) {
	if os.Getenv(holderConfig) != "" {
		os.Exit(beHolder())
	}
	os.Exit(m.Run())
}
