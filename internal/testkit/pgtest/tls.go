package pgtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Secure makes the server speak TLS with a certificate that is also that of the clients which it
// trusts, and ends no connection. Every role but postgres needs TLS with such a certificate, and a
// password.
func (s *Server) Secure(t testing.TB, cert, key []byte) {
	t.Helper()
	for name, text := range map[string][]byte{
		"server.crt": cert, "root.crt": cert, "server.key": key,
		"pg_hba.conf": []byte("host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n"),
	} {
		if err := os.WriteFile(filepath.Join(s.data, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.home.Own(t, s.data)
	c := s.connect(t)
	defer func() { _ = c.Close(t.Context()) }()
	for _, statement := range []string{`ALTER SYSTEM SET ssl_ca_file = 'root.crt'`, `ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
