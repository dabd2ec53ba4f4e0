// Package imports holds the test of who may import whom. It reads the files
// itself: asking the go command instead is answered from a stale test cache.
package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/quorate/quorate"

// An importer is one non-test file and what it imports.
type importer struct {
	file    string // slash-separated, from the module's root
	imports []string
}

func (f importer) pkg() string { return path.Dir(f.file) }

func TestImportRule(t *testing.T) {
	t.Parallel()
	files := parse(t, "../..")
	if len(files) < 30 {
		t.Fatalf("found only %d files: is this still the module's root?", len(files))
	}
	for _, f := range files {
		for _, imported := range f.imports {
			if msg := violation(f, imported); msg != "" {
				t.Errorf("%s imports %s: %s", f.file, imported, msg)
			}
		}
	}
}

// The layers, from the top. A package may import what stands further down.
//
//	cmd, examples → replica → adapters → scheduler → jobs → locking
//
// Two kinds of package stand beside them: the driver that both Redis adapters
// share, and helpers of tests.
func layer(pkg string) int {
	switch {
	case under(pkg, "cmd"), under(pkg, "examples"):
		return 6
	case under(pkg, "scheduler/replica"):
		return 5
	case adapter(pkg):
		return 4
	case pkg == "scheduler", pkg == "scheduler/listing", under(pkg, "scheduler/internal"):
		return 3
	case pkg == "jobs":
		return 2
	case pkg == "locking/redlock/nodes":
		return 1
	case pkg == "locking", pkg == "locking/fence":
		return 1
	}
	return 0
}

func adapter(pkg string) bool {
	for _, root := range []string{
		"locking/redlock", "locking/fence", "jobs/execjob", "jobs/httpjob",
		"scheduler/redisledger", "scheduler/redisacts", "scheduler/cells", "scheduler/webhook", "scheduler/metrics", "scheduler/traces", "scheduler/web",
	} {
		if under(pkg, root) && pkg != "locking/redlock/nodes" && pkg != "locking/fence" {
			return true
		}
	}
	return false
}

// measures tells whether pkg is of the benchmarks: a module of its own that starts
// servers, looks at every part, and puts others beside it.
func measures(pkg string) bool { return under(pkg, "benchmarks") }

func testHelper(pkg string) bool {
	base := path.Base(pkg)
	return strings.HasSuffix(base, "test") && base != "test"
}

// violation says why f may not import it, or nothing.
func violation(f importer, imported string) string {
	own, inside := strings.CutPrefix(imported, module+"/")
	pkg := f.pkg()
	switch {
	case measures(pkg):
		return ""
	case !inside:
		return thirdParty(f, imported)
	case testHelper(own) && !testHelper(pkg):
		return "a package for tests is imported by tests only"
	case testHelper(pkg), under(pkg, "internal"):
		return ""
	case adapter(pkg) && adapter(own) && pkg != own:
		return "adapters never import adapters; scheduler/replica wires them"
	case own == "locking/redlock/nodes" && !under(pkg, "locking/redlock") && layer(pkg) < 4:
		return "the cores know no technology"
	case pkg == "locking/redlock/nodes" && own != "locking":
		return "the driver knows the contract of locking and nothing else"
	case layer(own) > layer(pkg):
		return "imports point down: cmd → replica → adapters → scheduler → jobs → locking"
	}
	return ""
}

// only maps a library to the one place that may import it.
var only = map[string][]string{
	"github.com/knadh/koanf":          {"scheduler/replica"},
	"github.com/alicebob/miniredis":   {"locking/redlock/devnodes", "internal/redistest"},
	"github.com/go-redsync/redsync":   {"locking/redlock"},
	"github.com/redis/go-redis":       {"locking/redlock", "internal/redistest", "cmd", "locking/fence/redisfence", "examples/stalewriter"},
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/prometheus":           {"scheduler/metrics"},
	"go.opentelemetry.io/otel":        {"scheduler/traces", "scheduler/replica"},
	"github.com/google/jsonschema-go": {"scheduler/replica", "scheduler/web"},
	"go.yaml.in/yaml":                 {"scheduler/replica"},
	"github.com/robfig/cron":          {"scheduler"},
}

func thirdParty(f importer, imported string) string {
	if !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return "" // standard library
	}
	pkg := f.pkg()
	if pkg == "scheduler" && strings.HasPrefix(imported, "github.com/robfig/cron") {
		return ""
	}
	switch pkg {
	case "locking", "locking/fence", "jobs", "scheduler", "scheduler/listing":
		return "the cores import the standard library only"
	case "locking/fence/sqlfence", "locking/fence/httpfence":
		return "these guards take what the user has: standard library only"
	}
	for library, places := range only {
		if !under(imported, library) {
			continue
		}
		for _, place := range places {
			if under(pkg, place) {
				return ""
			}
		}
		return fmt.Sprintf("%s belongs into %s", library, strings.Join(places, " or "))
	}
	return ""
}

// TestExamplesImportWhatNewcomersCan holds the examples to public packages.
func TestExamplesImportWhatNewcomersCan(t *testing.T) {
	t.Parallel()
	examples := 0
	for _, f := range parse(t, "../../examples") {
		examples++
		for _, imported := range f.imports {
			if strings.Contains(imported, "/internal/") {
				t.Errorf("examples/%s imports %s, which nobody else can", f.file, imported)
			}
		}
	}
	if examples < 5 {
		t.Fatalf("found only %d examples", examples)
	}
}

// TestRobfigInOneFile holds the exception of the cores to a single file.
func TestRobfigInOneFile(t *testing.T) {
	t.Parallel()
	var found []string
	for _, f := range parse(t, "../..") {
		for _, imported := range f.imports {
			if strings.HasPrefix(imported, "github.com/robfig/cron") && !measures(f.pkg()) {
				found = append(found, f.file)
			}
		}
	}
	if len(found) != 1 {
		t.Errorf("robfig/cron is imported by %v, want exactly one file of scheduler", found)
	}
}

// TestRuleSeesViolations plants what the rule must refuse.
func TestRuleSeesViolations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, imported string }{
		{"locking/hold.go", "github.com/redis/go-redis/v9"},
		{"locking/hold.go", module + "/jobs"},
		{"locking/fence/gate.go", module + "/locking/fence/sqlfence"},
		{"locking/fence/gate.go", "github.com/redis/go-redis/v9"},
		{"locking/fence/sqlfence/guard.go", "github.com/jackc/pgx/v5"},
		{"jobs/httpjob/httpjob.go", module + "/locking/fence/httpfence"},
		{"locking/hold.go", module + "/locking/redlock"},
		{"jobs/run.go", module + "/scheduler"},
		{"jobs/run.go", module + "/locking/redlock/nodes"},
		{"scheduler/engine.go", module + "/scheduler/redisledger"},
		{"scheduler/engine.go", module + "/scheduler/schedtest"},
		{"scheduler/redisledger/read.go", module + "/locking/redlock"},
		{"scheduler/listing/reader.go", module + "/scheduler/redisledger"},
		{"scheduler/listing/reader.go", "github.com/redis/go-redis/v9"},
		{"jobs/execjob/exec.go", module + "/jobs/httpjob"},
		{"locking/redlock/nodes/node.go", module + "/locking/redlock"},
		{"scheduler/redisledger/read.go", module + "/scheduler/replica"},
		{"scheduler/replica/load.go", module + "/cmd"},
		{"cmd/run.go", "github.com/knadh/koanf/v2"},
		{"scheduler/replica/load.go", "github.com/alicebob/miniredis/v2"},
	} {
		if violation(importer{file: tc.file}, tc.imported) == "" {
			t.Errorf("%s may import %s; the rule should refuse it", tc.file, tc.imported)
		}
	}
	for _, tc := range []struct{ file, imported string }{
		{"scheduler/redisledger/read.go", module + "/locking/redlock/nodes"},
		{"scheduler/replica/build.go", module + "/scheduler/redisledger"},
		{"scheduler/web/api.go", module + "/scheduler/listing"},
		{"scheduler/engine.go", module + "/jobs"},
		{"scheduler/run.go", module + "/locking/fence"},
		{"jobs/httpjob/httpjob.go", module + "/locking/fence"},
		{"cmd/dev.go", module + "/scheduler/replica"},
		{"cmd/quorate/main.go", module + "/cmd"},
		{"benchmarks/rig/rig.go", module + "/internal/redistest"},
		{"benchmarks/rig/rig.go", "github.com/redis/go-redis/v9"},
	} {
		if msg := violation(importer{file: tc.file}, tc.imported); msg != "" {
			t.Errorf("%s may not import %s (%s); the rule should allow it", tc.file, tc.imported, msg)
		}
	}
}

// under tells whether p is root or below it.
func under(p, root string) bool {
	return p == root || strings.HasPrefix(p, root+"/")
}

// parse reads the imports of every Go file that is not a test.
func parse(t *testing.T, root string) []importer {
	t.Helper()
	var files []importer
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := importer{file: filepath.ToSlash(rel)}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
