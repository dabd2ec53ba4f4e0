package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// No error quotes a URL, or any part of one that cannot be read.
func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "mysql://user:Geheim1@host:port/", "mysql://user:Geheim1%zz@host/", "mysql://user:pa@Geheim1/x@host/", "mysql://user:pa@Geheim1?x@host/",
		"mysql:/user:Geheim1@host", "user:Geheim1@tcp(host)/", "postgres://user:Geheim1@host/", "mysql://host/", "mysql://user:Geheim1@/",
		"mysql://user@host/?Geheim1=x", "mysql://user@host/?tls=Geheim1", "mysql://user:pa#Geheim1@host/",
	} {
		s, err := open(source{fresh: at(url)})
		if err == nil {
			s.Close()
			t.Errorf("%q is a URL", url)
			continue
		}
		withoutSecrets(t, err)
		if !strings.Contains(err.Error(), "URL") {
			t.Errorf("%q: %v, want that the URL is wrong", url, err)
		}
	}
}

// An error says what has become of a call, and of which server, without the user.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listen := func(answer func(net.Conn)) string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
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
	gone := listen(func(conn net.Conn) { _ = conn.Close() })
	silent := listen(func(conn net.Conn) { t.Cleanup(func() { _ = conn.Close() }) })
	other := listen(func(conn net.Conn) {
		_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		_ = conn.Close()
	})
	for url, want := range map[string]string{
		"mysql://ann:Geheim1@127.0.0.1:1/":     "127.0.0.1:1",
		"mysql://ann:Geheim1@unknown.invalid/": "unknown.invalid",
		"mysql://ann:Geheim1@" + gone + "/":    "the connection was closed",
		"mysql://ann:Geheim1@" + silent + "/":  "context deadline exceeded",
		"mysql://ann:Geheim1@" + other + "/":   other,
	} {
		s := opened(t, source{fresh: at(url), timeout: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, _, read := s.Read(ctx, keyX)
		_, commit := s.Commit(ctx, kv.Txn{Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`1`)}}})
		cancel()
		for _, err := range []error{read, commit} {
			withoutSecrets(t, err)
			if !errors.Is(err, kv.ErrNotSent) || kv.Unknown(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ann") || strings.Contains(err.Error(), "\n") ||
				strings.Count(err.Error(), "context deadline exceeded") > 1 || strings.Count(err.Error(), kv.ErrUnavailable.Error()) > 1 {
				t.Errorf("%s: %v, want %v and %q", url, err, kv.ErrNotSent, want)
			}
		}
	}
}

// A user without the rights of a replica is refused, with what gives them.
func rights(t *testing.T, on *mysqltest.Server) {
	on.Exec(t, "CREATE USER poor IDENTIFIED BY 'Geheim1'")
	write(t, opened(t, source{fresh: at(on.URL()), database: "shared"}), `1`) // so that it has a life
	s := opened(t, source{fresh: at(as(on, "poor", "Geheim1")), database: "shared"})
	_, _, read := s.Read(t.Context(), keyX)
	if _, err := s.Version(t.Context()); !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "--from 0") {
		t.Errorf("without rights the version is unknown: %v, want %v and what to do", err, kv.ErrNotReady)
	}
	on.Exec(t, "GRANT SELECT ON shared.* TO poor")
	_, stamp, err := s.Read(t.Context(), keyX)
	if err != nil {
		t.Fatal(err)
	}
	_, commit := s.Commit(t.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`1`)}}})
	for _, err := range []error{read, commit} {
		if !errors.Is(err, kv.ErrNotReady) || kv.Unknown(err) || !strings.Contains(err.Error(), "--print --role") {
			t.Errorf("without rights: %v, want %v and what to do", err, kv.ErrNotReady)
		}
	}
	on.Exec(t, statements(Grants("shared", "poor"))...)
	write(t, s, `1`)
	if got := on.Value(t, "SELECT COUNT(*) FROM information_schema.table_privileges WHERE grantee LIKE '\\'replica\\'%' AND table_schema = 'shared'", ""); got != "12" {
		t.Errorf("a replica has %s rights, want 4 to records, 3 to slots, 2 to life, 1 to migrations and to each view", got)
	}
}

// What the server refuses while connecting was not sent, and is told with what to do.
func logins(t *testing.T, on *mysqltest.Server) {
	on.Exec(t, "CREATE USER locked_out IDENTIFIED BY 'Geheim1' ACCOUNT LOCK", "CREATE USER elsewhere@'10.0.0.1' IDENTIFIED BY 'Geheim1'", "CREATE USER tls_only IDENTIFIED BY 'Geheim1' REQUIRE SSL")
	for user, want := range map[string]string{
		"replica": "check both in the URL", "nobody": "check both in the URL", "elsewhere": "from which hosts", "locked_out": "unlock it", "tls_only": "check both in the URL",
	} {
		password := "Geheim1"
		if user == "replica" {
			password = "Geheim2"
		}
		s := opened(t, source{fresh: at(as(on, user, password)), database: "shared"})
		_, err := s.Commit(t.Context(), kv.Txn{})
		withoutSecrets(t, err)
		if !errors.Is(err, kv.ErrLogin) || !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %v and %q", user, err, kv.ErrLogin, want)
		}
	}
	s := opened(t, source{fresh: at(as(on, "replica", "Geheim1") + "?tls=true"), database: "shared"})
	if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, kv.ErrLogin) || !strings.Contains(err.Error(), "check tls in the URL") {
		t.Errorf("without TLS: %v", err)
	}
}

// A call that gets no connection says so: the server may be well.
func exhausted(t *testing.T, on *mysqltest.Server) {
	on.Exec(t, "CREATE USER many IDENTIFIED BY 'Geheim1' WITH MAX_USER_CONNECTIONS 1", Grants("shared", "many"))
	first, second := opened(t, source{fresh: at(as(on, "many", "Geheim1")), database: "shared"}), opened(t, source{fresh: at(as(on, "many", "Geheim1")), database: "shared"})
	if _, _, err := first.Read(t.Context(), keyX); err != nil {
		t.Fatal(err)
	}
	_, err := second.Commit(t.Context(), kv.Txn{})
	if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), "no connection left") {
		t.Errorf("Commit = %v, want %v", err, kv.ErrNotSent)
	}
}

// A record that somebody has locked is waited for, and not for longer than the call: then nothing was
// changed.
func locked(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "locked")
	s := opened(t, source{fresh: at(on.URL()), database: "locked"})
	incarnation := write(t, s, `1`).Stamp.Incarnation
	for what, lock := range map[string]string{
		"record": "SELECT * FROM locked.records FOR UPDATE", "slots": "SELECT * FROM locked.slots FOR UPDATE",
	} {
		tx, err := on.DB(t).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		change := kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`2`)}}}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err = s.Commit(ctx, change)
		cancel()
		if !errors.Is(err, kv.ErrLocked) || !strings.Contains(err.Error(), "after the deadline") || kv.Unknown(err) || strings.Count(err.Error(), kv.ErrUnavailable.Error()) > 1 {
			t.Errorf("%s: Commit = %v, want %v", what, err, kv.ErrLocked)
		}
		wants(t, s, `1`)
		waits := make(chan error)
		go func() { _, err := s.Commit(t.Context(), change); waits <- err }()
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-waits; err != nil {
			t.Errorf("%s: Commit = %v after the lock", what, err)
		}
		wants(t, s, `2`)
		write(t, s, `1`)
	}
}

// After a connection was lost, a commit may have been made or not, and only that is unknown.
func lost(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "lost")
	s := opened(t, source{fresh: at(on.URL()), database: "lost"})
	incarnation := write(t, s, `1`).Stamp.Incarnation
	for text, unknown := range map[string]bool{"COMMIT": true, "FOR UPDATE": false} { // each with all that is sent with it
		for _, drop := range []func(string){func(s string) { on.Front().CutReplies(s) }, on.Front().ChopReplies, on.Front().DropReplies} {
			drop(text)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := s.Commit(ctx, kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`2`)}}})
			cancel()
			on.Heal(t)
			if !errors.Is(err, kv.ErrUnavailable) || kv.Unknown(err) != unknown || strings.Count(err.Error(), context.DeadlineExceeded.Error()) > 1 || strings.Count(err.Error(), kv.ErrUnavailable.Error()) > 1 {
				t.Errorf("lost after %s: %v, want unknown = %t", text, err, unknown)
			}
			if list, _, err := s.Read(t.Context(), keyX); err != nil || !unknown && string(list[0].Value) != `1` {
				t.Errorf("lost after %s: Read = %+v, %v", text, list, err)
			}
			write(t, s, `1`)
		}
	}
}

// A server that does not answer takes no longer than the call, and is told once.
func silent(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "silent")
	s := opened(t, source{fresh: at(on.URL()), database: "silent"})
	write(t, s, `1`)
	on.Freeze(t)
	for left := 3; left > 0; left-- {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, _, err := s.Read(ctx, keyX)
		cancel()
		if err == nil && left == 3 {
			left++ // it has not stopped yet
			continue
		}
		if text := fmt.Sprint(err); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, kv.ErrUnavailable) || strings.Count(text, "context deadline exceeded") != 1 || strings.Count(text, "the store does not answer") > 1 {
			t.Errorf("Read = %v", err)
		}
	}
	on.Thaw(t)
	wants(t, s, `1`)
}

// What a stopped replica has locked is free when the server has ended its session.
func pauses(t *testing.T, on *mysqltest.Server) {
	migrate(t, on, "pauses")
	s := opened(t, source{fresh: at(on.URL()), database: "pauses"})
	write(t, s, `1`)
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"START TRANSACTION", "SELECT * FROM pauses.records FOR UPDATE"} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, `2`)
	_ = conn.Close()
}

// Whatever a COMMIT fails with, it may have been made. Before it nothing was changed.
func TestUnknownCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []uint16{1026, 1180, 1598, 1021, 1053, 1290, 1317, 1927, 9999} {
		err := &mysql.MySQLError{Number: code, Message: "it failed"}
		if err := failure(t.Context(), "quorate", "commit", err); !kv.Unknown(err) {
			t.Errorf("COMMIT: %v, want that it is unknown", err)
		}
		if err := failure(t.Context(), "quorate", "commit", groups.Unsent{Err: err}); kv.Unknown(err) {
			t.Errorf("before: %v, want that nothing was changed", err)
		}
	}
}

// A snapshot that innodb_snapshot_isolation refuses does not get better by trying again: the error says what does.
func TestOldSnapshotSaysWhatToDo(t *testing.T) {
	t.Parallel()
	err := explain(fmt.Errorf("locking the claims: %w", &mysql.MySQLError{Number: changedSinceRead, Message: "Record has changed since last read"}))
	if code(err) != changedSinceRead || !strings.Contains(err.Error(), "begin it at READ COMMITTED") {
		t.Errorf("%v", err)
	}
}
