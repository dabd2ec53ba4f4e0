package cmd

import (
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/scheduler/listing"
)

// TestPauses: a tag that no job can have is refused, and every pause is listed and
// ended, that of a tag nobody has, too.
func TestPauses(t *testing.T) {
	t.Parallel()
	config := writeConfig(t, redistest.StartN(t, 3), "jobs: {}\n")
	initNew(t, config)
	if _, stderr, code := quorate(t, "pause", "--tag", strings.Repeat("x y", 50), "--reason", "so", "-c", config); code != exitUsage || !strings.Contains(stderr, "is not a tag") {
		t.Errorf("a tag of any text: exit code %d: %.200s", code, stderr)
	}
	for _, args := range [][]string{{"--tag", "typo"}, {"--all"}} {
		if _, stderr, code := quorate(t, append([]string{"pause", "--reason", "so", "-c", config}, args...)...); code != exitDone {
			t.Fatalf("pause %v: exit code %d: %s", args, code, stderr)
		}
	}
	rows := list[listing.Act](t, "pauses", "-c", config)
	if len(rows) != 2 || rows[0].Target() != "tag typo" || rows[1].Target() != "all jobs" {
		t.Fatalf("the pauses are %+v", rows)
	}
	for _, row := range rows {
		if out, stderr, code := quorate(t, "resume", "--id", row.ID, "-c", config); code != exitDone || !strings.HasPrefix(out, row.Target()+": resumed by ") {
			t.Errorf("resume --id %s: exit code %d: %s%s", row.ID, code, out, stderr)
		}
	}
	if rows := list[listing.Act](t, "pauses", "-c", config); len(rows) != 0 {
		t.Errorf("after that they are %+v", rows)
	}
	if _, _, code := quorate(t, "resume", "--id", rows[0].ID, "-c", config); code != exitNotFound {
		t.Errorf("once more: exit code %d, want %d", code, exitNotFound)
	}
	if _, _, code := quorate(t, "resume", "--id", "x", "--all", "-c", config); code != exitUsage {
		t.Errorf("--id and --all: exit code %d, want %d", code, exitUsage)
	}
}
