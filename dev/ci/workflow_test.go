package ci

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/scheduler/schedule"
)

// A workflow has the keys that workflows here may use; decoding refuses all others.
type workflow struct {
	Name string
	On   struct {
		Push             yaml.Node
		PullRequest      yaml.Node `yaml:"pull_request"`
		WorkflowDispatch yaml.Node `yaml:"workflow_dispatch"`
		WorkflowRun      yaml.Node `yaml:"workflow_run"`
		Schedule         []struct{ Cron string }
	}
	Permissions map[string]string
	Concurrency yaml.Node
	Env         map[string]string
	Jobs        map[string]job
}

type job struct {
	Name, If    string
	Needs       yaml.Node
	RunsOn      string `yaml:"runs-on"`
	Container   container
	Environment yaml.Node
	Permissions map[string]string
	Concurrency yaml.Node
	Env         map[string]string
	Outputs     map[string]string
	Strategy    struct {
		FailFast bool `yaml:"fail-fast"`
		Matrix   struct {
			Include []map[string]string
			Part    []string
		}
	}
	Timeout int `yaml:"timeout-minutes"`
	Steps   []step
}

type step struct {
	ID, Name, If, Uses, Run, Shell string
	Dir                            string `yaml:"working-directory"`
	With, Env                      map[string]string
}

type container struct{ Image, Options string }

func (c *container) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&c.Image)
	}
	type plain container
	return node.Decode((*plain)(c))
}

// decode reads a file strictly.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readWorkflow(t *testing.T, name string) (w workflow) {
	t.Helper()
	decode(t, "../../.github/workflows/"+name, &w)
	return w
}

// commands returns what a job runs, one command a line.
func (j job) commands() string {
	var all []string
	for _, s := range j.Steps {
		all = append(all, s.Run)
	}
	return strings.Join(all, "\n")
}

var pinned = regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*\n$`)

// A workflow runs nothing that can change unseen, may do no more than it needs, ends, and
// runs commands that exist.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %q: %v", files, err)
	}
	makefile := strings.Join(readLines(t, "../../Makefile"), "\n")
	for _, file := range files {
		name := filepath.Base(file)
		w := readWorkflow(t, name)
		for _, line := range readLines(t, file) {
			if strings.Contains(line, "uses:") && !pinned.MatchString(line+"\n") {
				t.Errorf("%s: not pinned by its hash, with the version behind it: %s", name, line)
			}
		}
		if w.Permissions == nil || strings.Contains(strings.Join(values(w.Permissions), " "), "write") {
			t.Errorf("%s: the permissions of all jobs are %v; only a job may get one to write", name, w.Permissions)
		}
		for id, j := range w.Jobs {
			if j.Timeout == 0 || j.Timeout > 360 {
				t.Errorf("%s: job %s has timeout-minutes %d, want 1 to 360", name, id, j.Timeout)
			}
			if image := j.Container.Image; strings.HasPrefix(image, "golang:") && image != "golang:"+goVersion(t)+"-bookworm" {
				t.Errorf("%s: job %s runs in %q, and go.mod asks for %s", name, id, image, goVersion(t))
			}
			if strings.Contains(j.commands(), "image-check") || strings.Contains(j.commands(), "./dev/proof") {
				if !strings.Contains(j.Container.Options, "--privileged") {
					t.Errorf("%s: job %s may not mount, as make image-check does", name, id)
				}
			}
			for _, s := range j.Steps {
				if (s.Uses == "") == (s.Run == "") {
					t.Errorf("%s: job %s has a step that is not one of uses and run: %+v", name, id, s)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s: job %s leaves the token of the checkout to all that it runs", name, id)
				}
				checkCommands(t, name, s.Run, makefile)
			}
		}
	}
}

// checkCommands wants the scripts and the targets of make in a step to exist.
func checkCommands(t *testing.T, name, run, makefile string) {
	t.Helper()
	for _, script := range regexp.MustCompile(`\.ci/\w+`).FindAllString(run, -1) {
		if info, err := os.Stat("../../" + script); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s runs %s: %v", name, script, err)
		}
	}
	for _, m := range regexp.MustCompile(`\bmake ([a-z -]+)`).FindAllStringSubmatch(run, -1) {
		for target := range strings.FieldsSeq(m[1]) {
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s makes %s, which the Makefile has not", name, target)
			}
		}
	}
}

func values(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// The jobs of CI together run what .ci/run runs, and install nothing on their own.
func TestCIRunsAll(t *testing.T) {
	t.Parallel()
	w := readWorkflow(t, "ci.yml")
	if len(w.Jobs) != 1 {
		t.Fatalf("%d jobs, want one with a matrix", len(w.Jobs))
	}
	j := w.Jobs["ci"]
	if runs := regexp.MustCompile(`(?m)^(git config .*)?\n`).ReplaceAllString(j.commands(), ""); runs != "bash .ci/run ${{ matrix.targets }}" {
		t.Errorf("it runs %q", runs)
	}
	var targets []string
	for _, part := range j.Strategy.Matrix.Include {
		targets = append(targets, strings.Fields(part["targets"])...)
	}
	want := []string{"test"}
	for _, line := range readLines(t, "../../Makefile") {
		if needs, ok := strings.CutPrefix(line, "checks: "); ok {
			needs, _, _ = strings.Cut(needs, " ##")
			want = append(want, strings.Fields(needs)...)
		}
	}
	if slices.Sort(targets); !slices.Equal(targets, slices.Sorted(slices.Values(want))) {
		t.Errorf("the parts make %q, and .ci/run makes %q", targets, want)
	}
	if lines := readLines(t, "../../.ci/run"); !slices.Contains(lines, "make -j3 --keep-going VET= test checks") {
		t.Error(".ci/run does not make test and checks")
	}
}

// Every night each part is run, and its page is kept.
func TestFullRunsEveryNight(t *testing.T) {
	t.Parallel()
	w := readWorkflow(t, "full.yml")
	if len(w.On.Schedule) != 1 {
		t.Fatalf("it has the schedules %v", w.On.Schedule)
	}
	if _, err := schedule.Parse(w.On.Schedule[0].Cron, schedule.Options{}); err != nil {
		t.Error(err)
	}
	j := w.Jobs["part"]
	if !strings.Contains(j.commands(), "go run ./dev/proof ${{ matrix.part }}") || !slices.Contains(j.Strategy.Matrix.Part, "promotions") {
		t.Errorf("it runs %s for %q", j.commands(), j.Strategy.Matrix.Part)
	}
	last := j.Steps[len(j.Steps)-1]
	if j.Steps[0].With["fetch-depth"] != "0" || !strings.HasPrefix(last.Uses, "actions/upload-artifact@") || last.With["path"] != "docs/results/${{ matrix.part }}.md" || !strings.Contains(last.If, "!cancelled()") {
		t.Errorf("its steps lack the whole history, or the page: %+v", j.Steps)
	}
}

// goVersion is the release of Go that go.mod asks for, as 1.26.
func goVersion(t *testing.T) string {
	t.Helper()
	for _, line := range readLines(t, "../../go.mod") {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.Join(strings.Split(version, ".")[:2], ".")
		}
	}
	t.Fatal("go.mod does not say which Go it needs")
	return ""
}
