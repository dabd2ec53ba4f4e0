package imports

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// optional has what a program links only on request.
var optional = []string{
	"github.com/prometheus", "go.opentelemetry.io", "html/template", "text/template", "github.com/alicebob/miniredis",
	"github.com/spf13/cobra", module + "/internal/console/pages", module + "/scheduler/metrics", module + "/scheduler/traces",
}

// maxBinary is how large the smallest program may be, in bytes.
const maxBinary = 15 << 20

// TestMinimalLinksWhatItUses checks what examples/minimal links.
func TestMinimalLinksWhatItUses(t *testing.T) {
	t.Parallel()
	parse(t, "../..") // reads the files, so that the result of this test is not kept when they change
	const program = module + "/examples/minimal"
	linked := strings.Fields(output(t, "go", "list", "-deps", program))
	if len(linked) < 100 {
		t.Fatalf("it links only %q", linked)
	}
	for _, pkg := range linked {
		for _, part := range optional {
			if under(pkg, part) {
				t.Errorf("%s links %s", program, pkg)
			}
		}
	}
	binary := filepath.Join(t.TempDir(), "minimal")
	output(t, "go", "build", "-ldflags", "-s -w", "-o", binary, program)
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("%s has %d bytes, more than %d", program, info.Size(), maxBinary)
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
