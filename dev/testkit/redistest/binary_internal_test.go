package redistest

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBinary(t *testing.T) {
	t.Setenv(binaryEnv, "")
	if bin, err := binary(); filepath.Base(bin) != "redis-server" {
		t.Errorf("binary() = %q, %v; want redis-server by default", bin, err)
	}
	t.Setenv(binaryEnv, "sh")
	if bin, err := binary(); filepath.Base(bin) != "sh" {
		t.Errorf("binary() = %q, %v; want the program that is named", bin, err)
	}
	t.Setenv(binaryEnv, "no-such-server")
	if _, err := binary(); err == nil || !strings.Contains(err.Error(), "needs no-such-server") {
		t.Errorf("binary() = %v, want what is missing", err)
	}
}
