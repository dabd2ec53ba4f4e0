package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// One Redis is a store, and no list of one node.
func TestInitOfOneRedis(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "redis: {url: %q}\n", redistest.Start(t).URL()), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := quorate(t, "store", "init", "-c", config)
	if code != exitDone || stdout != "the store is declared new\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
