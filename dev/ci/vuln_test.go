package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where the database of vulnerabilities cannot be reached the check does not fail, and
// says that nothing was checked; where it can, its findings count.
func TestVulnerabilitiesWhereTheNetworkIsClosed(t *testing.T) {
	t.Parallel()
	check := func(db string) (string, error) {
		c := exec.CommandContext(t.Context(), "../../.ci/vuln")
		c.Env = append(os.Environ(), "GOVULNDB="+db)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, db := range []string{"http://127.0.0.1:1", "file://" + filepath.Join(t.TempDir(), "none")} {
		if out, err := check(db); err != nil || !strings.Contains(out, "NOT CHECKED: ") {
			t.Errorf("%s: %v, %s", db, err, out)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(makefile)) {
		if needs, ok := strings.CutPrefix(line, "checks: "); ok && !strings.Contains(needs, " vuln ") {
			t.Errorf("make checks does not look for vulnerabilities: %s", line)
		}
	}
}
