package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// Check says what the promotion of a standby may forget.
func TestCheckOfStandbys(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	schema := w.migrated(t)
	plain := w.openIn(t, schema, w.urlAs("replica"))
	durable := open(t, postgres.Config{URL: w.urlAs("replica"), Schema: schema, Durable: true})
	if got := judged(t, plain); got != "" {
		t.Errorf("without a standby: %q", got)
	}
	w.Standby(t)
	w.AwaitStandby(t)
	if got := judged(t, plain); !strings.HasPrefix(got, "(note) the standbys are asynchronous: the promotion of one may forget") {
		t.Errorf("with an asynchronous standby: %q", got)
	}
	if got := judged(t, durable); !strings.HasPrefix(got, "(mend)") || !strings.Contains(got, "ticks run twice") {
		t.Errorf("with an asynchronous standby, durable: %q", got)
	}
	waitsFor(t, w, plain, "nobody")
	if got := judged(t, durable); !strings.HasPrefix(got, `(note) synchronous_standby_names is "nobody"`) {
		t.Errorf("with a synchronous standby, durable: %q", got)
	}
}

// A commit that waits in vain for a synchronous standby is seen by others once its caller
// has given up.
func TestSilentSynchronousStandby(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	s := w.openIn(t, w.migrated(t), w.URL())
	first := write(t, s, `1`)
	waitsFor(t, w, s, "nobody")
	last := 1
	// The process of the server that lets commits wait may read the setting later than this session.
	for err := error(nil); !errors.Is(err, kv.ErrUnavailable); {
		if err != nil {
			t.Fatalf("Commit = %v, want %v", err, kv.ErrUnavailable)
		}
		last++
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = s.Commit(ctx, kv.Txn{Incarnation: first.Stamp.Incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(strconv.Itoa(last))}}})
		cancel()
	}
	for value := ""; value != strconv.Itoa(last); {
		list, _, err := s.Read(t.Context(), keyX)
		if err != nil {
			t.Fatal(err)
		}
		value = string(list[0].Value)
	}
}

// waitsFor makes commits wait for a standby.
func waitsFor(t *testing.T, w *world, s *postgres.Store, name string) {
	t.Helper()
	w.exec(t, `ALTER SYSTEM SET synchronous_standby_names = '`+name+`'`)
	w.exec(t, `SELECT pg_reload_conf()`)
	for !strings.Contains(judged(t, s), name) {
		time.Sleep(10 * time.Millisecond)
	}
}

// judged is the finding about standbys; "" if there is none.
func judged(t *testing.T, s *postgres.Store) string {
	t.Helper()
	c, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Findings {
		switch {
		case f.Topic == "standbys" && f.Mend:
			return "(mend) " + f.Text
		case f.Topic == "standbys":
			return "(note) " + f.Text
		}
	}
	return ""
}
