package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// A connection that is cut instead of the answer to a commit leaves its outcome unknown.
// Then the store says what became of it.
func cutOff(t *testing.T, w *world) {
	for mode, text := range calls {
		cutOffAt(t, w, mode, text)
	}
}

func cutOffAt(t *testing.T, w *world, mode, text string) {
	proxy := proxytest.New(t, w.Addr())
	s := w.open(t, pgtest.URL(proxy.Addr(), url.UserPassword("replica", "hush"), "postgres")+mode)
	first := write(t, s, `1`)
	next := kv.Txn{
		Incarnation: first.Stamp.Incarnation, If: []kv.Compare{{Key: keyX, Version: first.Version}},
		Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`2`)}},
	}
	proxy.CutReplies(text)
	if o, err := s.Commit(t.Context(), next); !errors.Is(err, kv.ErrUnavailable) || o != (kv.Outcome{}) {
		t.Errorf("cut off at %s: Commit = %+v, %v, want %v", text, o, err, kv.ErrUnavailable)
	}
	proxy.Pass()
	wants(t, s, `2`)
	if o, err := s.Commit(t.Context(), next); err != nil || o.Won {
		t.Errorf("the same again: Commit = %+v, %v; it was done already", o, err)
	}
	proxy.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := s.Read(ctx, keyX); !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an answer: Read = %v, want %v with the context's", err, kv.ErrUnavailable)
	} else if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "deadline exceeded") != 1 {
		t.Errorf("without an answer: Read = %q, want one line that says why once", text)
	}
	proxy.Pass()
	wants(t, s, `2`)
}

// A pooler that has lost the server says so in an error of its own. The transaction may have been made.
func poolerLostServer(t *testing.T, w *world) {
	for name, says := range map[string]*pgproto3.ErrorResponse{
		"and closes":     {Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "08006", Message: "odyssey: remote server read/write error"},
		"without a code": {Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "XX000", Message: "the server has gone"},
	} {
		proxy := proxytest.New(t, w.Addr())
		s := w.open(t, pgtest.URL(proxy.Addr(), url.UserPassword("replica", "hush"), "postgres"))
		first := write(t, s, `1`)
		text, err := says.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		proxy.LoseReplies(calls[""], text)
		o, err := s.Commit(t.Context(), kv.Txn{
			Incarnation: first.Stamp.Incarnation, If: []kv.Compare{{Key: keyX, Version: first.Version}}, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`2`)}},
		})
		if proxy.Pass(); !kv.Unknown(err) {
			t.Errorf("%s: Commit = %+v, %v, want that it is unknown", name, o, err)
		}
		wants(t, s, `2`)
	}
}

// A transaction waits for the locks of others no longer than its caller does, and is not
// made later.
func patience(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.URL())
	incarnation := write(t, s, `1`).Stamp.Incarnation
	tx, err := connect(t, w.URL()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	const slow = `SELECT S.commit_records($1, false, 0, '{put}', '{claim}', '{x}', '{""}', '{-1}', '{2}')`
	if _, err := tx.Exec(t.Context(), strings.ReplaceAll(slow, "S.", quoted+"."), incarnation); err != nil {
		t.Fatal(err)
	}
	// The server gives up by itself: a request to cancel may be lost.
	bounded := strings.NewReplacer("S.", quoted+".", "false, 0,", "false, 100,").Replace(slow)
	waits, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := connect(t, w.URL()).Exec(waits, bounded, incarnation); err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("behind a lock the server says %v, want that it waits no longer", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if o, err := s.Commit(ctx, kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`3`)}}}); !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("behind a lock: Commit = %+v, %v, want %v", o, err, kv.ErrUnavailable)
	}
	wants(t, s, `1`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, s, `2`)
}

// Whatever the role's settings are, a commit waits for the disk, and stronger settings stay.
func strongerSettings(t *testing.T, w *world) {
	schema := pgx.Identifier{w.migrated(t)}.Sanitize()
	c := connect(t, w.URL())
	for was, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, statement := range []string{
			`SET LOCAL synchronous_commit = ` + was,
			`SELECT FROM ` + schema + `.commit_records('', false, 0, '{if}', '{claim}', '{x}', '{""}', '{0}', '{""}')`,
		} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&got); err != nil || got != want {
			t.Errorf("synchronous_commit is %s, %v after a commit with %s, want %s", got, err, was, want)
		}
		_ = tx.Rollback(t.Context())
	}
}

// The kit on a primary that is killed on the way, and its standby.
func TestPromotion(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	standby := w.Standby(t)
	both := pgtest.URLOf(w.Server, standby)
	kvtest.Run(t, kvtest.Backend{
		New: func(t testing.TB) kv.Store {
			s := w.openIn(t, w.schema(), both)
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		},
		NextIncarnation: func(t testing.TB, s kv.Store) {
			w.AwaitStandby(t)
			refusesOnStandby(t, standby.URL())
			w.Kill(t)
			standby.Promote(t)
			awaitAnswer(t, s)
		},
		Rounds: 50,
	})
}

func refusesOnStandby(t testing.TB, url string) {
	t.Helper()
	s := open(t, postgres.Config{URL: url, Schema: "Schema 1"})
	_, _, err := s.Read(t.Context(), keyX)
	if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("on a standby: Read = %v, want %v and why", err, kv.ErrUnavailable)
	}
	// A pooler may lead a connection there that was opened on the primary.
	if _, err = connect(t, url).Exec(t.Context(), `SELECT "Schema 1".life(true)`); err == nil || !strings.Contains(err.Error(), "Connect to the primary") {
		t.Errorf("on a standby, the functions answer: %v", err)
	}
}

// awaitAnswer reads until the store answers: its connections have to be made anew.
func awaitAnswer(t testing.TB, s kv.Store) kv.Stamp {
	t.Helper()
	until := time.Now().Add(20 * time.Second)
	for {
		_, stamp, err := s.Read(t.Context(), keyX)
		switch {
		case err == nil:
			return stamp
		case !errors.Is(err, kv.ErrUnavailable) || time.Now().After(until):
			t.Fatal(err)
		}
	}
}

// A server that was killed keeps its incarnation and what it acknowledged.
func TestKill(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	s := w.openIn(t, w.schema(), w.URL())
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{`1`, `2`} {
		before := write(t, s, value)
		w.Kill(t)
		if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("of a dead server: Read = %v, want %v", err, kv.ErrUnavailable)
		}
		if _, err := s.Commit(t.Context(), kv.Txn{Incarnation: before.Stamp.Incarnation}); !errors.Is(err, kv.ErrNotSent) {
			t.Errorf("of a dead server: Commit = %v, want %v", err, kv.ErrNotSent)
		}
		w.Restart(t)
		if stamp := awaitAnswer(t, s); stamp.Incarnation != before.Stamp.Incarnation {
			t.Errorf("incarnation %q after a restart, %q before", stamp.Incarnation, before.Stamp.Incarnation)
		}
		wants(t, s, value)
		if after := write(t, s, `0`); after.Version <= before.Version {
			t.Errorf("version %d after a restart, %d before", after.Version, before.Version)
		}
	}
}
