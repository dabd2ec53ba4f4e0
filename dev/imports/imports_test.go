// Package imports tests which packages may import which. It reads the files itself: answers
// of the go command come from a stale test cache.
package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/quorate/quorate"

// An importer is one non-test file and its imports.
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

// rooms are the folders from the top to the bottom. A package may import packages of its own
// room and of those below it.
//
//	cmd, examples → stores → replica → config → console → store → adapters → scheduler → jobs → locking → settings → alone
var rooms = [][]string{
	{"cmd", "examples", "stores/etcd/quorate-etcd", "stores/zookeeper/quorate-zookeeper", "stores/mysql/quorate-mysql", "stores/sqlite/quorate-sqlite"},
	{"stores"}, // what a program passes to replica, of which they are plugins
	{"replica"},
	{"internal/config"},
	{"internal/console"},
	{"internal/store"},
	// Adapters of the public contracts: each knows a technology.
	{
		"locking/redlock", "locking/fence/sqlfence", "locking/fence/redisfence", "locking/fence/httpfence", "locking/fence/fencetest",
		"jobs/execjob", "jobs/httpjob", "scheduler/commands/sqlcommands", "scheduler/metrics", "scheduler/traces",
	},
	{"scheduler", "internal/served"}, // what follows from what its replicas publish
	{"jobs"},
	{"locking", "internal/finishtx"}, // a transaction that ends a run is refused as a guard refuses
	{"replica/settings"},             // of a file and of a program
	// These know no other package: rules of a node, health of a store, ends of runs, schedules,
	// users of the API. Besides, small tools for values, references, masks, JSON, files, certificates and repeating.
	lowest,
}

var lowest = []string{
	"internal/store/protocol", "internal/store/health", "scheduler/schedule", "scheduler/identity",
	"internal/decode", "internal/refs", "internal/mask", "internal/plainjson", "internal/retry", "internal/inode", "internal/certificate",
}

// upward are the imports that still point up, and why.
var upward = []struct{ from, to, why string }{
	{"locking/redlock", "internal/store/quorum/membership", "a Locker for programs without a replica, so it is public; it is the way to the nodes"},
	{"locking/redlock", "internal/store/quorum/scripts", "as above"},
	{"locking/redlock", "internal/store/quorum/client", "as above"},
	{"scheduler/metrics", "internal/console/view", "it counts the rows that the console shows"},
	{"scheduler/metrics", "internal/store/quorum/membership", "it counts calls to the nodes"},
}

// place returns the room of a package, counted from the top; the longest name counts.
func place(pkg string) int {
	best, room := "", -1
	for i, folders := range rooms {
		for _, folder := range folders {
			if under(pkg, folder) && len(folder) > len(best) {
				best, room = folder, i
			}
		}
	}
	return room
}

func pointsUp(pkg, own string) bool {
	if place(own) >= place(pkg) {
		return false
	}
	for _, known := range upward {
		if known.from == pkg && known.to == own {
			return false
		}
	}
	return true
}

func adapter(pkg string) bool { return family(pkg) != "" }

// family is the folder of the family of adapters that pkg is of, "" if it is no adapter. A
// family knows one technology, and may have several packages.
func family(pkg string) string {
	switch {
	case driver(pkg), pkg == "internal/store/single/kv", pkg == "internal/store/single/groups", pkg == "internal/store/single", under(pkg, "internal/console/view"):
		return ""
	}
	best := ""
	for _, folder := range []string{
		"locking/redlock", "internal/store/single", "internal/store/single/postgres", "locking/fence/sqlfence", "locking/fence/redisfence", "locking/fence/httpfence", "locking/fence/fencetest",
		"jobs/execjob", "jobs/httpjob",
		"internal/store/quorum/ledger", "internal/store/quorum/commands", "scheduler/commands/sqlcommands", "internal/console", "internal/console/webhook", "scheduler/metrics", "scheduler/traces",
	} {
		if under(pkg, folder) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}

// inner are the packages within a family, each with those of the family that it may import.
// Without an entry only the compiler restricts them.
var inner = map[string][]string{
	"internal/store/single/records": nil,
	"internal/store/single/claims":  {"internal/store/single/records"},

	"internal/console/problem": nil,
	"internal/console/gate":    {"internal/console/problem"},
	"internal/console/api":     {"internal/console/gate", "internal/console/problem"},
	"internal/console/pages":   {"internal/console/api", "internal/console/gate", "internal/console/problem"},
}

// parts are the packages that the Redis adapters share, each with its allowed imports of
// this module: calls to nodes, identity of nodes, and the rules of claims as scripts with what
// they store, which only redlock and the ledger may import.
var parts = map[string][]string{
	"internal/store/quorum/client":     {"internal/certificate"},
	"internal/store/quorum/membership": {"locking", "internal/store/quorum/client", "internal/store/health"},
	"internal/store/quorum/scripts":    {"locking", "internal/plainjson", "internal/store/quorum/membership"},
	"internal/store/quorum/transfer":   {"locking", "internal/store/quorum/membership", "internal/store/quorum/scripts"},
}

func driver(pkg string) bool {
	_, is := parts[pkg]
	return is
}

// core reports whether pkg is above the scheduler and knows no technology.
func core(pkg string) bool {
	return slices.Contains([]string{"internal/console/view", "internal/store", "internal/store/unreadable", "internal/store/single/kv"}, pkg)
}

// alone reports whether pkg knows no other package.
func alone(pkg string) bool { return slices.Contains(lowest, pkg) }

// measures reports whether pkg is for those who develop this module: it looks at every part.
func measures(pkg string) bool { return under(pkg, "dev") }

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
	case measures(own) && (!under(own, "dev/testkit") || !testHelper(pkg)):
		return "the product does not know the tools for it"
	case testHelper(own) && !testHelper(pkg):
		return "a package for tests is imported by tests only"
	case testHelper(pkg):
		return ""
	case adapter(pkg) && adapter(own) && family(pkg) != family(own):
		return "adapters of one family never import those of another; replica wires them"
	case adapter(own) && !inRoom(pkg, own):
		return "within a family, too, imports go one way: pages → api → gate → problem"
	case driver(pkg):
		if slices.Contains(parts[pkg], own) {
			return ""
		}
		return "transfer knows scripts; scripts know membership and locking; membership knows client, health and locking; client knows certificates"
	case core(pkg) && (driver(own) || adapter(own)):
		return "the cores know no technology"
	case pkg == "internal/store/single/kv" && own != "locking":
		return "the contract of a store knows locking only"
	case own == "internal/store/quorum/scripts" && pkg != "locking/redlock" && pkg != "internal/store/quorum/ledger":
		return "claims are redlock's; the ledger reads their records"
	case alone(pkg):
		return "the rules, ends of runs, the schedules, the users, decoding and repeating know no other package"
	case place(pkg) < 0 || place(own) < 0:
		return "one of them is in no room: give it a place in the tree"
	case pointsUp(pkg, own):
		return "imports point down: cmd → stores → replica → config → console → store → adapters → scheduler → jobs → locking → settings"
	}
	return ""
}

// TestUpwardImportsAreStillThere fails when an import that pointed up is gone: then its exception
// goes, too.
func TestUpwardImportsAreStillThere(t *testing.T) {
	t.Parallel()
	files := parse(t, "../..")
	for _, known := range upward {
		if !slices.ContainsFunc(files, func(f importer) bool {
			return f.pkg() == known.from && slices.Contains(f.imports, module+"/"+known.to)
		}) {
			t.Errorf("%s does not import %s any more: delete the exception", known.from, known.to)
		}
	}
}

// inRoom reports whether the packages of a family let pkg import own.
func inRoom(pkg, own string) bool {
	allowed, is := inner[pkg]
	return !is || family(pkg) != family(own) || slices.Contains(allowed, own)
}

// only maps a library to the one place that may import it.
var only = map[string][]string{
	"github.com/knadh/koanf":          {"internal/config"},
	"github.com/alicebob/miniredis":   {"locking/redlock/devnodes"},
	"github.com/go-redsync/redsync":   {"locking/redlock"},
	"github.com/redis/go-redis":       {"locking/redlock", "internal/store/quorum/membership", "internal/store/quorum/client", "cmd", "locking/fence/redisfence", "examples/stalewriter"},
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/prometheus":           {"scheduler/metrics", "examples/inservice"},
	"go.opentelemetry.io/otel":        {"scheduler/traces", "examples/inservice"},
	"github.com/google/jsonschema-go": {"internal/config", "internal/console/api"},
	"go.yaml.in/yaml":                 {"internal/config", "internal/console/api", "internal/config/crontab"},
	"github.com/robfig/cron":          {"scheduler/schedule"},
	"github.com/jackc/pgx":            {"internal/store/single/postgres", "stores/postgres", "examples/inservice"},
}

func thirdParty(f importer, imported string) string {
	if !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return "" // standard library
	}
	pkg := f.pkg()
	switch pkg {
	case "locking", "internal/store/protocol", "internal/decode", "locking/fence", "jobs", "scheduler", "scheduler/internal/job", "scheduler/roster", "scheduler/event", "scheduler/internal/attempt", "scheduler/internal/catchup", "scheduler/internal/presence", "scheduler/internal/recorder", "internal/console/view":
		return "the cores import the standard library only"
	case "locking/fence/sqlfence", "locking/fence/httpfence", "scheduler/commands/sqlcommands":
		return "these take what the user has: standard library only"
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

// TestRuleSeesViolations plants violations of the rule.
func TestRuleSeesViolations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, imported string }{
		{"locking/hold.go", "github.com/redis/go-redis/v9"},
		{"locking/hold.go", module + "/jobs"},
		{"locking/fence/fence.go", module + "/locking/fence/sqlfence"},
		{"locking/fence/fence.go", "github.com/redis/go-redis/v9"},
		{"locking/fence/sqlfence/guard.go", "github.com/jackc/pgx/v5"},
		{"jobs/httpjob/httpjob.go", module + "/locking/fence/httpfence"},
		{"locking/hold.go", module + "/locking/redlock"},
		{"jobs/registry.go", module + "/scheduler"},
		{"jobs/registry.go", module + "/internal/store/quorum/membership"},
		{"scheduler/engine.go", module + "/internal/store/quorum/ledger"},
		{"scheduler/engine.go", module + "/scheduler/schedtest"},
		{"internal/store/quorum/ledger/read.go", module + "/locking/redlock"},
		{"internal/console/view/reader.go", module + "/internal/store/quorum/ledger"},
		{"internal/console/view/reader.go", "github.com/redis/go-redis/v9"},
		{"jobs/execjob/exec.go", module + "/jobs/httpjob"},
		{"internal/store/quorum/membership/node.go", module + "/locking/redlock"},
		{"internal/store/quorum/client/client.go", module + "/internal/store/quorum/membership"},
		{"internal/store/quorum/client/client.go", module + "/locking"},
		{"internal/store/quorum/scripts/records.go", module + "/internal/store/quorum/client"},
		{"internal/store/quorum/membership/node.go", module + "/internal/store/quorum/scripts"},
		{"internal/store/quorum/scripts/scripts.go", module + "/locking/redlock"},
		{"internal/store/quorum/commands/open.go", module + "/internal/store/quorum/scripts"},
		{"internal/store/protocol/rules.go", module + "/locking"},
		{"internal/store/protocol/rules.go", "github.com/redis/go-redis/v9"},
		{"internal/decode/walker.go", module + "/jobs"},
		{"internal/decode/walker.go", "go.yaml.in/yaml/v3"},
		{"internal/store/quorum/ledger/read.go", module + "/replica"},
		{"replica/load.go", module + "/cmd"},
		{"cmd/run.go", "github.com/knadh/koanf/v2"},
		{"scheduler/engine.go", module + "/internal/config"},
		{"replica/load.go", "github.com/alicebob/miniredis/v2"},
		{"internal/console/pages/jobs.go", module + "/scheduler/metrics"},
		{"internal/console/webhook/sink.go", module + "/internal/console/gate"},
		{"internal/console/gate/gate.go", module + "/internal/console/api"},
		{"internal/console/api/reads.go", module + "/internal/console/pages"},
		{"internal/console/problem/problem.go", module + "/internal/console"},
		{"internal/console/pages/pages.go", "github.com/google/jsonschema-go/jsonschema"},
	} {
		if violation(importer{file: tc.file}, tc.imported) == "" {
			t.Errorf("%s may import %s; the rule should refuse it", tc.file, tc.imported)
		}
	}
	for _, tc := range []struct{ file, imported string }{
		{"internal/store/quorum/ledger/read.go", module + "/internal/store/quorum/membership"},
		{"internal/store/quorum/membership/node.go", module + "/internal/store/quorum/client"},
		{"internal/store/quorum/scripts/records.go", module + "/locking"},
		{"internal/store/quorum/ledger/read.go", module + "/internal/store/quorum/scripts"},
		{"internal/store/quorum/scripts/scripts.go", module + "/internal/store/quorum/membership"},
		{"locking/redlock/round.go", module + "/internal/store/quorum/scripts"},
		{"replica/build.go", module + "/internal/store/quorum/ledger"},
		{"replica/dashboard/dashboard.go", module + "/internal/console/pages"},
		{"internal/console/pages/jobs.go", module + "/internal/console/api"},
		{"internal/console/api/reads.go", module + "/internal/console/view"},
		{"scheduler/engine.go", module + "/jobs"},
		{"jobs/params.go", module + "/internal/decode"},
		{"scheduler/run.go", module + "/locking/fence"},
		{"jobs/httpjob/httpjob.go", module + "/locking/fence"},
		{"cmd/dev.go", module + "/replica"},
		{"cmd/quorate/main.go", module + "/cmd"},
		{"dev/bench/rig/rig.go", module + "/dev/testkit/redistest"},
		{"dev/bench/rig/rig.go", "github.com/redis/go-redis/v9"},
	} {
		if msg := violation(importer{file: tc.file}, tc.imported); msg != "" {
			t.Errorf("%s may not import %s (%s); the rule should allow it", tc.file, tc.imported, msg)
		}
	}
}

// under reports whether p is root or below it.
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
