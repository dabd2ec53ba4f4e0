package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
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

// An error names each server once, with the cause, and neither the user nor the database, whatever
// addresses and ways pgx has tried.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listen := func(answer func(net.Conn)) string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		if answer == nil {
			_ = l.Close()
			return l.Addr().String()
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				answer(conn)
			}
		}()
		return l.Addr().String()
	}
	says := func(text string, code string) func(net.Conn) {
		return func(conn net.Conn) {
			defer conn.Close()
			backend := pgproto3.NewBackend(conn, conn)
			for {
				startup, err := backend.ReceiveStartupMessage()
				if err != nil {
					return
				}
				if _, is := startup.(*pgproto3.StartupMessage); is {
					backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: text})
					_ = backend.Flush()
					return
				}
				if _, err := conn.Write([]byte("N")); err != nil { // no TLS
					return
				}
			}
		}
	}
	hangsUp := listen(func(conn net.Conn) { // without TLS
		defer conn.Close()
		if startup, _ := pgproto3.NewBackend(conn, conn).ReceiveStartupMessage(); startup != nil {
			_, _ = conn.Write([]byte("N"))
		}
	})
	_, hangsUpPort, _ := net.SplitHostPort(hangsUp)
	away, other := listen(nil), listen(nil)
	_, port, _ := net.SplitHostPort(away)
	silent := listen(func(conn net.Conn) { t.Cleanup(func() { _ = conn.Close() }) })
	closes := listen(func(conn net.Conn) {
		_, _ = pgproto3.NewBackend(conn, conn).ReceiveStartupMessage()
		_ = conn.Close()
	})
	starting := listen(says("the database system is starting up", "57P03"))
	_, startingPort, _ := net.SplitHostPort(starting)
	denies := listen(says("no PostgreSQL user name specified", "28000"))
	missing := t.TempDir()
	for name, c := range map[string]struct {
		url, want string
		kind      error
	}{
		"refused":             {"postgres://ann:Geheim1@" + away + "/shop", away + ": connection refused", kv.ErrNotSent},
		"with TLS only":       {"postgres://ann:Geheim1@" + away + "/shop?sslmode=require", away + ": connection refused", kv.ErrNotSent},
		"two servers":         {"postgres://ann:Geheim1@" + away + "," + other + "/shop", away + ": connection refused; " + other + ": connection refused", kv.ErrNotSent},
		"one that writes":     {"postgres://ann:Geheim1@" + away + "," + starting + "/shop?target_session_attrs=read-write", away + ": connection refused; " + starting + ": FATAL: the database system is starting up (SQLSTATE 57P03)", kv.ErrNotSent},
		"a name":              {"postgres://ann:Geheim1@localhost:" + port + "/shop", "localhost:" + port + ": connection refused", kv.ErrNotSent},
		"a socket":            {"user=ann password=Geheim1 dbname=shop host=" + missing, missing + "/.s.PGSQL.5432: no such file or directory", kv.ErrNotSent},
		"an unknown name":     {"postgres://ann:Geheim1@unknown:5432/shop", "unknown: no such host", kv.ErrNotSent},
		"a known one besides": {"postgres://ann:Geheim1@unknown:5432," + away + "/shop", "unknown: no such host; " + away + ": connection refused", kv.ErrNotSent},
		"no answer":           {"postgres://ann:Geheim1@" + silent + "/shop", silent + ": context deadline exceeded", kv.ErrNotSent},
		"one address answers": {"postgres://ann:Geheim1@last:" + startingPort + "/shop", "there is no connection: last:" + startingPort + ": FATAL: the database system is starting up (SQLSTATE 57P03)", kv.ErrNotSent},
		"the first one does":  {"postgres://ann:Geheim1@first:" + startingPort + "/shop", "there is no connection: first:" + startingPort + ": FATAL: the database system is starting up (SQLSTATE 57P03)", kv.ErrNotSent},
		"closed, no TLS":      {"postgres://ann:Geheim1@localhost:" + hangsUpPort + "/shop?sslmode=prefer", "localhost:" + hangsUpPort + ": the connection was closed", kv.ErrNotSent},
		"closed":              {"postgres://ann:Geheim1@" + closes + "/shop?sslmode=disable", closes + ": the connection was closed", kv.ErrNotSent},
		"closed, TLS":         {"postgres://ann:Geheim1@" + closes + "/shop?sslmode=require", closes + ": the connection was closed", kv.ErrNotSent},
		"starts":              {"postgres://ann:Geheim1@" + starting + "/shop", starting + ": FATAL: the database system is starting up (SQLSTATE 57P03)", kv.ErrNotSent},
		"no TLS":              {"postgres://ann:Geheim1@" + starting + "/shop?sslmode=require", "the server has no TLS: " + starting + ": server refused TLS connection", kv.ErrLogin},
		"denied":              {"postgres://ann:Geheim1@" + denies + "/shop", denies + ": FATAL: no PostgreSQL user name specified (SQLSTATE 28000)", kv.ErrLogin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgxpool.ParseConfig(c.url)
			if err != nil {
				t.Fatal(err)
			}
			lookUp := config.ConnConfig.LookupFunc
			config.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
				if host == "unknown" {
					return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.0.0.2:53", IsNotFound: true}
				}
				switch host { // nothing listens on the other address
				case "last":
					return []string{"127.0.0.2", "127.0.0.1"}, nil
				case "first":
					return []string{"127.0.0.1", "127.0.0.2"}, nil
				}
				return lookUp(ctx, host)
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			s, err := postgres.Open(t.Context(), postgres.Config{Pool: pool})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			limit := time.Minute // what answers does so at once, but on a busy machine not soon
			if name == "no answer" {
				limit = 4 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, _, read := s.Read(ctx, kv.Key{Kind: kv.Claims, Name: "x"})
			_, check := s.Check(ctx)
			_, migrate := s.Migrate(ctx)
			for call, err := range map[string]error{"read": read, "check": check, "migrate": migrate} {
				text := err.Error()
				if strings.Count(text, c.want) != 1 || !errors.Is(err, c.kind) || !strings.HasPrefix(text, "postgres: "+call+": ") {
					t.Errorf("%s = %s, want %s, and %v", call, text, c.want, c.kind)
				}
				if strings.Contains(text, "refused") != strings.Contains(c.want, "refused") {
					t.Errorf("%s = %s, with what says less than %s", call, text, c.want)
				}
				for _, not := range []string{"ann", "shop", "Geheim1", "127.0.0.1 ", "(127", "(local", "dial", "\n", "\t", "failed to"} {
					if strings.Contains(text, not) {
						t.Errorf("%s = %s, with %q", call, text, not)
					}
				}
				if _, is := errors.AsType[*pgconn.ConnectError](err); !is && name != "no answer" {
					t.Errorf("%s = %v, from which the error of pgx cannot be had", call, err)
				}
			}
		})
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
