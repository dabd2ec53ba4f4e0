package deploy

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

const manifests = root + "/deploy/kubernetes"

// header begins the manifests. It names what they are made of, so that a test without Helm
// sees that they are old.
func header(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	fmt.Fprint(sum, read(t, manifests+"/values.yaml"))
	err := fs.WalkDir(os.DirFS(chart), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "monitoring" {
			return fs.SkipDir // values.yaml has none of it
		}
		if err == nil && !entry.IsDir() && path != "README.md" && path != "values.schema.json" {
			fmt.Fprint(sum, path, read(t, chart+"/"+path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("# Three replicas of Quorate, without Helm. `make manifests` writes this file from the chart\n# and values.yaml (%x).\n", sum.Sum(nil)[:8])
}

// TestManifestsAreOfThisChart is for machines without the time to compile Helm.
func TestManifestsAreOfThisChart(t *testing.T) {
	t.Parallel()
	text := read(t, manifests+"/quorate.yaml")
	if !strings.HasPrefix(text, header(t)) {
		t.Error("the chart has changed: run `make manifests`")
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		if object := tree(t, document); object["kind"] == "ConfigMap" {
			validate(t, object["data"].(map[string]any)["config.yaml"].(string))
			return
		}
	}
	t.Error("there is no ConfigMap")
}
