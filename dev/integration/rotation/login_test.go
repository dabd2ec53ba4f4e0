package rotation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// starts starts a replica that is refused, and returns why it has ended.
func (r *rig) starts(section string) error {
	r.Helper()
	one := r.replica(section)
	ctx, stop := context.WithTimeout(r.Context(), 2*time.Minute)
	defer stop()
	return one.Run(ctx)
}

// A replica whose login is refused ends at once, and says first what is wrong.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, owner := r.owned()
	ca, other := redistest.NewCA(t), redistest.NewCA(t)
	r.write(ca)
	server.Secure(t, ca.PEM(), ca.KeyPEM())
	r.exec(owner, "CREATE DATABASE closed")
	r.exec(owner, "REVOKE CONNECT ON DATABASE closed FROM PUBLIC; CREATE ROLE nologin PASSWORD 'Geheim1'")
	foreign := r.T.TempDir()
	other.Write(t, foreign)

	secured := redistest.Start(t, redistest.TLS(ca), appUser)
	nodes := redistest.StartN(t, 3, appUser)
	for _, s := range nodes {
		if err := s.Client().ConfigSet(t.Context(), "requirepass", "Geheim2").Err(); err != nil {
			t.Fatal(err)
		}
	}
	sentinel := redistest.Start(t, redistest.Sentinel())
	if err := sentinel.Client().ACLSetUser(t.Context(), "app", "on", ">before", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	list := func(user string) string {
		var urls []string
		for _, s := range nodes {
			urls = append(urls, "'redis://"+user+s.Addr()+"'")
		}
		return "redis: {nodes: [" + strings.Join(urls, ", ") + "]}"
	}
	postgres := func(login, database, more string) string {
		return fmt.Sprintf("postgres: {url: 'postgres://%s@%s/%s?%s'}", login, server.Addr(), database, more)
	}
	cert := "sslcert={dir}/cert.pem&sslkey={dir}/key.pem"
	for name, c := range map[string]struct{ section, want string }{
		"password":                   {postgres("app:Geheim1", "postgres", cert), "wrong user or password"},
		"password, several servers":  {strings.Replace(postgres("app:Geheim1", "postgres", cert), server.Addr(), server.Addr()+","+server.Addr(), 1), "wrong user or password"},
		"no password":                {postgres("app", "postgres", cert), "wrong user or password"},
		"unknown user":               {postgres("nobody:Geheim1", "postgres", cert), "wrong user or password"},
		"user who may not log in":    {postgres("nologin:Geheim1", "postgres", cert), "not permitted to log in"},
		"database":                   {postgres("app:before", "other", cert), "no such database"},
		"closed database":            {postgres("app:before", "closed", cert), "no right to the database"},
		"without TLS":                {postgres("app:before", "postgres", "sslmode=disable"), "pg_hba.conf"},
		"without a certificate":      {postgres("app:before", "postgres", "sslmode=require"), "certificate"},
		"with a strange certificate": {postgres("app:before", "postgres", fmt.Sprintf("sslmode=require&sslcert=%s/cert.pem&sslkey=%s/key.pem", foreign, foreign)), "TLS"},
		"strange server":             {postgres("app:before", "postgres", fmt.Sprintf("sslmode=verify-full&sslrootcert=%s/cert.pem&", foreign)+cert), "certificate of the server is not trusted"},
		"strange authority":          {postgres("app:before", "postgres", fmt.Sprintf("sslmode=verify-ca&sslrootcert=%s/cert.pem&", foreign)+cert), "certificate of the server is not trusted"},

		"Redis nodes":              {list("app:Geheim1@"), "rejects the user or password"},
		"Redis nodes, no password": {list(""), "needs a password"},
		"one Redis":                {fmt.Sprintf("redis: {url: 'redis://app:Geheim1@%s'}", nodes[0].Addr()), "rejects the user or password"},
		"one Redis, no password":   {fmt.Sprintf("redis: {url: 'redis://%s'}", nodes[0].Addr()), "needs a password"},
		"Sentinels":                {fmt.Sprintf("redis: {sentinel: {master: orders, addresses: ['redis://app:Geheim1@%s']}}", sentinel.Addr()), "rejects the user or password"},
		"one Redis, strange":       {fmt.Sprintf("redis: {url: 'rediss://app:before@%s', tls: {ca_file: %s/cert.pem}}", secured.Addr(), foreign), "certificate"},
	} {
		err := r.starts(c.section)
		if err == nil {
			t.Errorf("%s: no error, but the log\n%s", name, r.log.String())
			continue
		}
		text := err.Error()
		for _, not := range []string{"does not answer", "Geheim", "server refused TLS", "failed to connect", "user=", "\n", "no quorum"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %s", name, text)
			}
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %q", name, text, c.want)
		}
	}
}
