package postgres_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/postgres"
)

// No error quotes a URL, or any part of one that cannot be read.
func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "postgres://user:Geheim1@host:port/db", "postgres://user:Geheim1%zz@host/db",
		"postgres://user:pa@Geheim1/x@host/db", "postgres://user:pa@Geheim1@host/db", "postgres://user:pa@Geheim1?x@host/db", "postgres:/user:Geheim1@host", "user=x password='Geheim1", "user=x password = Geheim1 port=x",
		"postgres://user:Geheim1@host/db?sslmode=perhaps", "postgres://user:Geheim1@host/db?pool_max_conns=many", "redis://user:Geheim1@host",
	} {
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil {
			s.Close()
			t.Errorf("%q is a URL", url)
			continue
		}
		if text := err.Error(); strings.Contains(text, "Geheim1") || !strings.Contains(text, "postgres://") {
			t.Errorf("%q: %v, want what to write, and no secret", url, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://user:Geheim1@" + addr + "/db"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _, err = s.Read(t.Context(), store.Key{Kind: store.Claims, Name: "x"})
	if text := err.Error(); strings.ContainsAny(text, "\n\t") || strings.Count(text, "refused") != 1 {
		t.Errorf("Read = %q, want one line that says once what happened", text)
	}
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "Geheim1") || !strings.Contains(err.Error(), addr) {
		t.Errorf("Read = %v, want %v with the address, and no secret", err, store.ErrUnavailable)
	}
}

// Each step says what it is for, and what it needs, and the numbers have no gap. From the
// first release on, pin the SHA-256 of each released file here: it must not change again.
func TestMigrationsAreDescribed(t *testing.T) {
	t.Parallel()
	list := postgres.Migrations()
	for i, m := range list {
		lines := strings.SplitN(m.SQL, "\n\n", 2)
		if !strings.HasPrefix(m.Name, fmt.Sprintf("%04d_", i+1)) {
			t.Errorf("step %d is %d, %s", i+1, m.Version, m.Name)
		}
		if !strings.HasPrefix(lines[0], "-- ") || !strings.Contains(lines[0], "\n-- Arguments: ") {
			t.Errorf("%s begins with\n%s", m.Name, lines[0])
		}
	}
	for from := range list {
		script := postgres.Script("", from)
		if !strings.HasPrefix(script, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n") || !strings.HasSuffix(script, "COMMIT;\n") || strings.Contains(script, "{schema}") {
			t.Errorf("from version %d:\n%s", from, script)
		}
		if strings.Contains(script, list[0].Name) != (from == 0) {
			t.Errorf("from version %d the script makes step 1", from)
		}
	}
	if grants := postgres.Grants("a schema", `o"role`); !strings.Contains(grants, `ON SCHEMA "a schema" TO "o""role";`) {
		t.Errorf("granted as\n%s", grants)
	}
}
