package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// root is where the repository begins.
const root = "../.."

// TestMain builds quorate, and puts it in the PATH.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "quorate")
	if err == nil {
		err = run("go", "-C", root, "build", "-o", filepath.Join(dir, "quorate"), "./cmd/quorate")
	}
	if err == nil {
		err = os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w, %s", name, args, err, out)
	}
	return nil
}

// quorate runs a command of the binary, which has to succeed, and returns what it prints.
func quorate(t *testing.T, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), "quorate", args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("quorate %q: %v, %s", args, err, &errs)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
