package mysql

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// A password and certificates that are replaced at the server and in the files are used from the next
// connection on. Until the files follow, calls were not sent, and say so without secrets.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after := redistest.NewCA(t), redistest.NewCA(t)
	on := mysqltest.StartTLS(t, before)
	migrate(t, on, "quorate")
	on.Exec(t, "CREATE USER replica IDENTIFIED BY 'Geheim1' REQUIRE X509", Grants("", "replica"))
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	rewrite := func(password string, ca *redistest.CA) {
		t.Helper()
		ca.Write(t, dir)
		if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("Geheim1", before)
	server, err := new(Store).Open(t.Context(), config.Cluster{Namespace: "quorate", Section: config.SectionMySQL, MySQL: settings.MySQL{
		URL: settings.Secret("mysql://replica:${file:" + secret + "}@" + on.Addr()),
		TLS: settings.TLS{CAFile: filepath.Join(dir, "cert.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	write(t, server, `1`)
	refused := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := server.Commit(ctx, kv.Txn{})
		withoutSecrets(t, err)
		if !errors.Is(err, kv.ErrLogin) || !strings.Contains(err.Error(), want) {
			t.Errorf("Commit = %v, want %v and %q", err, kv.ErrLogin, want)
		}
	}
	on.Exec(t, "ALTER USER replica IDENTIFIED BY 'Geheim2'")
	write(t, server, `2`) // open connections last
	on.Front().Break()
	refused("wrong user or password")
	rewrite("Geheim2", before)
	write(t, server, `3`)
	on.Secure(t, after)
	on.Front().Break()
	refused("certificate")
	if err := os.Remove(filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	refused("mysql.tls")
	rewrite("Geheim2", after)
	write(t, server, `4`)
}

// What the URL says of TLS is done.
func TestTLS(t *testing.T) {
	t.Parallel()
	on := mysqltest.StartTLS(t, redistest.NewCA(t))
	migrate(t, on, "quorate")
	on.Exec(t, "CREATE USER replica IDENTIFIED BY 'Geheim1' REQUIRE SSL", Grants("", "replica"))
	for mode, want := range map[string]error{"": kv.ErrLogin, "?tls=true": kv.ErrLogin, "?tls=skip-verify": nil, "?tls=preferred": nil} {
		s := opened(t, source{fresh: at(as(on, "replica", "Geheim1") + mode)})
		if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, want) {
			t.Errorf("%s: Read = %v, want %v", mode, err, want)
		}
	}
}
