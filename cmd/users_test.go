package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/console/gate"
)

// The output fits into the configuration as it is.
func TestUsers(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := quorate(t, "users", "token")
	token, stored, _ := strings.Cut(stdout, "\n")
	if code != exitDone || stderr != "" || !strings.HasPrefix(token, "token:         qt_") {
		t.Fatalf("users token: %d, %s%s", code, stdout, stderr)
	}
	if err := gate.ValidateToken(strings.TrimSpace(strings.TrimPrefix(stored, "configuration: "))); err != nil {
		t.Errorf("%s: %v", stored, err)
	}
	for _, tt := range []struct {
		in   string
		code int
	}{{"correct horse battery\n", exitDone}, {"correct horse battery", exitDone}, {"short\n", exitUsage}, {"", exitUsage}} {
		var out, errs bytes.Buffer
		app := App{In: strings.NewReader(tt.in), Out: &out, Err: &errs}
		code := app.Exec(t.Context(), []string{"users", "password"})
		if code != tt.code || code == exitDone && gate.ValidatePassword(strings.TrimSpace(out.String())) != nil {
			t.Errorf("users password of %q: %d, %s%s", tt.in, code, &out, &errs)
		}
		if strings.Contains(out.String()+errs.String(), "horse") {
			t.Errorf("the password is shown: %s%s", &out, &errs)
		}
	}
}
