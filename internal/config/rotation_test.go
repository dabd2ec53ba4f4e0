package config

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// rewrite replaces what a file holds.
func rewrite(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Stores ask for their login at each connection, and get what references and files say then.
func TestLoginsAreReadAnew(t *testing.T) {
	t.Parallel()
	before, after := redistest.NewCA(t), redistest.NewCA(t)
	for section, text := range map[string]string{
		SectionEtcd:      "etcd: {endpoints: ['https://10.0.0.1:2379'], username: '${file:%[1]s}', password: 'x${file:%[1]s}', tls: {ca_file: %[2]s, cert_file: %[2]s, key_file: %[3]s}}",
		SectionMySQL:     "mysql: {url: 'mysql://${file:%[1]s}:x${file:%[1]s}@10.0.0.1:3306', tls: {ca_file: %[2]s, cert_file: %[2]s, key_file: %[3]s}}",
		SectionZooKeeper: "zookeeper: {servers: ['10.0.0.1:2181'], username: '${file:%[1]s}', password: 'x${file:%[1]s}', tls: {ca_file: %[2]s, cert_file: %[2]s, key_file: %[3]s}}",
		SectionRedis:     "redis: {nodes: ['rediss://10.0.0.1'], username: '${file:%[1]s}', password: 'x${file:%[1]s}', tls: {ca_file: %[2]s, cert_file: %[2]s, key_file: %[3]s}}",
	} {
		secret, cert, key := write(t, "old\n"), write(t, string(before.PEM())), write(t, string(before.KeyPEM()))
		cluster, err := ReadCluster(Source{Path: write(t, fmt.Sprintf(text, secret, cert, key)), Environ: []string{"A=b"}})
		if err != nil {
			t.Fatal(err)
		}
		login := cluster.Login
		if section == SectionRedis {
			login = func() (Login, error) {
				c, err := cluster.Redis.Fresh()
				return Login{Username: c.Username, Password: c.Password, TLS: c.TLS}, err
			}
		}
		check := func(password string, ca *redistest.CA) {
			t.Helper()
			l, err := login()
			if u, bad := url.Parse(l.URL); bad == nil && u.User != nil {
				l.Username = u.User.Username()
				l.Password, _ = u.User.Password()
			}
			if err != nil || l.Username != password || l.Password != "x"+password {
				t.Fatalf("%s logs in as %q with %q, %v, want %q", section, l.Username, l.Password, err, password)
			}
			block, _ := pem.Decode(ca.PEM())
			if !bytes.Equal(l.TLS.Certificates[0].Certificate[0], block.Bytes) || !l.TLS.RootCAs.Equal(ca.Config().RootCAs) {
				t.Errorf("%s has another certificate than that in the file", section)
			}
		}
		check("old", before)
		rewrite(t, secret, []byte("new\n"))
		rewrite(t, cert, after.PEM())
		rewrite(t, key, after.KeyPEM())
		check("new", after)
		rewrite(t, cert, []byte("not yet"))
		if _, err := login(); err == nil || !strings.Contains(err.Error(), cert) {
			t.Errorf("%s: with a broken certificate: %v, want the name of the file", section, err)
		}
	}
}

// The sum of a configuration tells that a file has changed to which it refers, wherever.
func TestReferencedFilesCount(t *testing.T) {
	t.Parallel()
	const text = `
redis: {nodes: ["rediss://:${file:%s}@h1"], tls: {ca_file: %s}}
defaults: {timeout: "${file:%s}"}
jobs:
  job: {func: f, schedule: "${file:%s}", params: {deep: [{token: "${env:HOME} ${file:%s}"}]}}
`
	files := []any{
		write(t, "secret"), write(t, string(redistest.NewCA(t).PEM())), write(t, "1m"), write(t, "@every 1m"), write(t, "token"),
		write(t, "5s"),
	}
	source := Source{Path: write(t, fmt.Sprintf(text, files[:5]...)), Environ: []string{"A=b"}, Set: []string{fmt.Sprintf("lock.ttl=${file:%s}", files[5])}}
	cfg, err := Read(source, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Sum() != cfg.SumNow(source) {
		t.Error("the sum differs although nothing has changed")
	}
	for _, file := range files {
		before := cfg.SumNow(source)
		rewrite(t, file.(string), []byte("other"))
		if changed := cfg.SumNow(source); changed == before {
			t.Errorf("%s has changed, and the sum has not", filepath.Base(file.(string)))
		}
	}
}
