package faults

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// pageMu lets one campaign at a time write into the page.
var pageMu sync.Mutex

// report logs the results of a campaign that passed, and writes them into the page, between
// the marks of its section.
func report(t *testing.T, section, text string) {
	t.Helper()
	if t.Failed() {
		return // the errors say it
	}
	t.Logf("%s:\n%s", section, text)
	if *pageFlag == "" {
		return
	}
	pageMu.Lock()
	defer pageMu.Unlock()
	page, err := os.ReadFile(*pageFlag)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", section), fmt.Sprintf("<!-- end %s -->", section)
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no marks for %s", *pageFlag, section)
	}
	if err := os.WriteFile(*pageFlag, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRun says in the page when and where the campaigns ran.
func TestRun(t *testing.T) {
	t.Parallel()
	info := redistest.Start(t).Client().Info(t.Context(), "server").Val()
	_, version, ok := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	if !ok {
		t.Fatalf("the server does not tell its version: %s", info)
	}
	report(t, "run", fmt.Sprintf("Last run: %s, Redis %s, %d cores, all servers and clients on one machine.\n",
		time.Now().UTC().Format(time.DateOnly), version, runtime.NumCPU()))
}

// counts writes "3 × this, 1 × that".
func counts(m map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprintf("%d × %s", m[what], what))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
