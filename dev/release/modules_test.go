package release

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// published returns the folders of the modules that a release tags, each as the start of its
// tag: "" is the main module, the others are stores.
func published(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../stores/*/go.mod")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no store that is a module of its own: %v", err)
	}
	folders := []string{""}
	for _, file := range files {
		folders = append(folders, "stores/"+filepath.Base(filepath.Dir(file))+"/")
	}
	return folders
}

// `go install` of a version accepts the go.mod of every published module, and finds the main
// module that was released with it.
func TestPublishedModules(t *testing.T) {
	t.Parallel()
	newest := newestVersion(t, read(t, "../../CHANGELOG.md"))
	for _, folder := range published(t) {
		file := folder + "go.mod"
		text := read(t, filepath.Join("../..", file))
		if refused := regexp.MustCompile(`(?m)^(?:replace|exclude)\b.*`).FindString(text); refused != "" {
			t.Errorf("%s has %q, which `go install` of a version refuses: a replace may stand in go.work", file, refused)
		}
		if folder != "" && !strings.Contains(text, "github.com/quorate/quorate v"+newest+"\n") {
			t.Errorf("%s does not require v%s", file, newest)
		}
	}
}

// The steps of a release tag every module, and push all the tags.
func TestStepsTagEachModule(t *testing.T) {
	t.Parallel()
	lists := regexp.MustCompile(`stores/\{(.*?)\}/v`).FindAllStringSubmatch(read(t, "../../docs/releasing.md"), -1)
	if len(lists) != 2 {
		t.Fatalf("docs/releasing.md lists stores in %d commands, want 2: git tag and git push", len(lists))
	}
	for _, list := range lists {
		folders := []string{""}
		for store := range strings.SplitSeq(list[1], ",") {
			folders = append(folders, "stores/"+store+"/")
		}
		if slices.Sort(folders); !slices.Equal(folders, published(t)) {
			t.Errorf("docs/releasing.md has the tags %q, want %q", folders, published(t))
		}
	}
}

// newestVersion is the first version that the change log names.
func newestVersion(t *testing.T, changelog string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(changelog)
	if match == nil {
		t.Fatal("CHANGELOG.md names no version: cut it first, as docs/releasing.md says")
	}
	return match[1]
}
