package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// A copy says what it has done and what to do next. It refuses what it cannot do, with a reason.
func TestStoreCopyWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	node := func() string { return "redis: {node_timeout: 3s, nodes: [" + redistest.Start(t).URL() + "]}\n" } // on a busy machine
	old, to := config("old.yaml", "namespace: old\n"+node()), config("new.yaml", "namespace: new\n"+node())
	away := config("away.yaml", "redis: {nodes: [redis://127.0.0.1:1]}\n")
	both := config("both.yaml", "redis: {nodes: [redis://127.0.0.1:1]}\npostgres: {url: postgres://127.0.0.1:1/x}\n")
	if _, stderr, code := quorate(t, "store", "init", "--config", old); code != exitDone {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--from", old}, exitUsage, "that of the target with --to"},
		{[]string{"--from", old, "--to", "nowhere.yaml"}, exitUsage, "nowhere.yaml"},
		{[]string{"--from", old, "--to", both}, exitUsage, "postgres"},
		{[]string{"--from", away, "--to", to}, exitNoQuorum, "127.0.0.1:1"},
		{[]string{"--from", old, "--to", away}, exitNoQuorum, "127.0.0.1:1"},
		{[]string{"--from", old, "--to", to}, exitDone, ""},
		{[]string{"--from", old, "--to", to}, exitFailed, "the store is not empty: "},
	} {
		stdout, stderr, code := quorate(t, append([]string{"store", "copy"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d: %s, want %q", c.args, code, c.code, stderr, c.want)
		}
		if done := strings.Contains(stdout, "0 open requests\nnext: start the replicas"); done != (code == exitDone) {
			t.Errorf("%v: %s", c.args, stdout)
		}
	}
}
