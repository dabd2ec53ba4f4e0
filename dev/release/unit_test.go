// These tests need systemd-analyze: make checks.

//go:build systemd

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/config"
)

const unitFile = "../../deploy/systemd/quorate.service"

// maxExposure is the score of `systemd-analyze security`, times ten: 0 is closed, and 100
// open. docs/installing.md says which one systemd 252 gives.
const maxExposure = "15"

// systemdAnalyze runs it, which must succeed.
func systemdAnalyze(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestUnit(t *testing.T) {
	t.Parallel()
	unit := read(t, unitFile)
	program, err := os.Executable() // one that is there
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(t.TempDir(), "quorate.service")
	if err := os.WriteFile(installed, []byte(strings.Replace(unit, "/usr/bin/quorate", program, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := systemdAnalyze(t, "verify", installed); out != "" {
		t.Errorf("systemd-analyze verify says %s", out)
	}
	systemdAnalyze(t, "security", "--offline=true", "--threshold="+maxExposure, installed)
}

// A drain has the time that it needs by default, and its signal is for the replica alone.
func TestUnitLetsRunsEnd(t *testing.T) {
	t.Parallel()
	unit := read(t, unitFile)
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(.*)$`).FindStringSubmatch(unit)
	if len(stop) == 0 {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	// The rest is for functions that ignore the end of their context.
	const rest = 20 * time.Second
	drain := config.Default().Scheduler.DrainTimeout
	if most, err := time.ParseDuration(stop[1]); err != nil || most < drain+rest {
		t.Errorf("TimeoutStopSec=%s, %v; want more than drain_timeout, %v, and %v", stop[1], err, drain, rest)
	}
	if !strings.Contains(unit, "\nKillMode=mixed\n") {
		t.Error("the first signal would end the commands of jobs")
	}
}
