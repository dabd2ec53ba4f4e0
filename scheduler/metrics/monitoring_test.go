// These tests need promtool: make checks.

//go:build promtool

package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/scheduler/ledger"
)

const (
	alertsFile     = "../../deploy/chart/monitoring/alerts.yaml"
	alertsTestFile = "../../deploy/chart/monitoring/alerts_test.yaml"
	dashboardFile  = "../../deploy/chart/monitoring/grafana.json"
	pageFile       = "../../docs/monitoring.md"
)

// promtool runs it, which must succeed, and returns what it says.
func promtool(t *testing.T, input string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed, and the alert rules cannot be tested without: run .ci/deps promtool (on Debian: apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The alerts fire when they should, and only then, as promtool has it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, "", "check", "rules", alertsFile)
	promtool(t, "", "test", "rules", alertsTestFile)
}

// What is served is what Prometheus likes to be given.
func TestServedTextIsClean(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	full().Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if said := promtool(t, w.Body.String(), "check", "metrics"); said != "" {
		t.Error(said)
	}
}

// Each alert is seen to fire in a test, and has a section that says what to do.
func TestEachAlertIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	rules, tests, page := read(t, alertsFile), read(t, alertsTestFile), read(t, pageFile)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 15 {
		t.Fatalf("found only %d alerts", len(alerts))
	}
	for _, m := range alerts {
		name := m[1]
		if !regexp.MustCompile(`alertname: ` + name + `\n +eval_time: \w+\n +exp_alerts:\n`).MatchString(tests) {
			t.Errorf("no test sees %s fire", name)
		}
		if !strings.Contains(page, "\n### "+name+"\n") {
			t.Errorf("monitoring.md does not say what to do about %s", name)
		}
		if want := "runbook: docs/monitoring.md#" + strings.ToLower(name) + "\n"; !strings.Contains(rules, want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
}

// exported lists the names of all metrics.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(full())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, f := range families {
		all[f.GetName()] = true
	}
	return all
}

// Dashboard and alerts name metrics that there are; each is in a panel, and the page
// explains all.
func TestMetricsAreNamedAsTheyAre(t *testing.T) {
	t.Parallel()
	all, page := exported(t), read(t, pageFile)
	for _, file := range []string{alertsFile, alertsTestFile, dashboardFile, pageFile} {
		for _, name := range regexp.MustCompile(`quorate_[a-z_]+`).FindAllString(read(t, file), -1) {
			plain := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				plain = strings.TrimSuffix(plain, suffix)
			}
			if !all[name] && !all[plain] {
				t.Errorf("%s names %s, which is not exported", filepath.Base(file), name)
			}
		}
	}
	asked := strings.Join(regexp.MustCompile(`"expr": ".*"`).FindAllString(read(t, dashboardFile), -1), "\n")
	for name := range all {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("monitoring.md does not explain %s", name)
		}
		if !regexp.MustCompile(`\b` + name + `(_bucket|_sum|_count)?\b`).MatchString(asked) {
			t.Errorf("no panel of the dashboard shows %s", name)
		}
	}
	for _, code := range ledger.Codes() {
		if len(code.Outcomes()) > 0 && !strings.Contains(page, "`"+string(code)+"`") {
			t.Errorf("monitoring.md does not explain the reason %s", code)
		}
	}
}

// A panel of the dashboard.
type panel struct {
	Type, Title, Description string
	Targets                  []struct{ Expr string }
}

// Each panel asks what Prometheus understands, and is explained.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &dashboard); err != nil {
		t.Fatal(err)
	}
	page := read(t, pageFile)
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$cluster", "q", "$job_name", ".*")
	var rules bytes.Buffer
	rules.WriteString("groups: [{name: panels, rules: [\n")
	panels := slices.DeleteFunc(dashboard.Panels, func(p panel) bool { return p.Type == "row" })
	for _, p := range panels {
		if len(p.Targets) == 0 || p.Description == "" {
			t.Errorf("panel %s asks nothing, or says nothing", p.Title)
		}
		if !strings.Contains(page, "**"+p.Title+"**") {
			t.Errorf("monitoring.md does not explain the panel %s", p.Title)
		}
		for i, q := range p.Targets {
			fmt.Fprintf(&rules, "{record: panel_%d, expr: %q},\n", i, variables.Replace(q.Expr))
		}
	}
	rules.WriteString("]}]\n")
	if strings.Contains(rules.String(), "$") || len(panels) < 20 {
		t.Errorf("%d panels, and a variable that the test does not know:\n%s", len(panels), &rules)
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, rules.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", "--lint=none", file)
}
