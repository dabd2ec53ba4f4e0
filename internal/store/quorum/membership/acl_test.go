package membership_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// The user of ACLRules may do what the scripts do, and nothing else.
func TestACLRulesHoldTheCommandsInUse(t *testing.T) {
	t.Parallel()
	var files []string
	for _, dir := range []string{".", "..", "../client", "../scripts", "../ledger", "../commands"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.lua"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	used := []string{"eval", "evalsha", "info"} // sent by clients
	call := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			used = append(used, strings.ToLower(m[1]))
		}
	}
	slices.Sort(used)
	used = slices.Compact(used)
	if len(used) < 15 {
		t.Fatalf("found only %q: have the scripts moved?", used)
	}
	_, list, _ := strings.Cut(membership.ACLRules("quorate"), "-@all ")
	granted := strings.Fields(strings.ReplaceAll(list, "+", ""))
	slices.Sort(granted)
	if !slices.Equal(granted, used) {
		t.Errorf("scripts use   %q\nACLRules grant %q: correct the list in acl.go", used, granted)
	}
}
