package pgstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/locking"
)

// After its clock was an hour ahead, a database says so, and goes on from its tokens once an operator
// lets it: for the replica that was there, and for others.
func TestClockWasAheadOnPostgres(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	schema := w.migrated(t)
	join := func() *single.Cluster {
		t.Helper()
		c, err := single.Open(w.openIn(t, schema, w.urlAs("replica")), claims.Config{TTL: 5 * time.Second}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	clock := func(ahead string) {
		t.Helper()
		w.exec(t, `CREATE OR REPLACE FUNCTION `+pgx.Identifier{schema}.Sanitize()+`.micros() RETURNS bigint
			LANGUAGE sql VOLATILE RETURN floor(extract(epoch FROM clock_timestamp() + interval '`+ahead+`') * 1000000)`)
	}
	c, tick := join(), time.Now().Truncate(time.Second)
	if err := c.DeclareNew(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := locking.Token(0)
	claim := func(c *single.Cluster, n int) error {
		lease, err := c.Claims.TryAcquire(t.Context(), locking.Request{Name: "job", Holder: "a", Tick: tick.Add(time.Duration(n) * time.Second)})
		if err != nil {
			return err
		}
		if token := lease.Claim().Token; token <= last {
			t.Errorf("claim %d has token %d after %d", n, token, last)
		} else {
			last = token
		}
		return errors.Join(lease.Extend(t.Context()), lease.Release(t.Context(), []byte(`{}`)))
	}
	clock("1 hour")
	if err := claim(c, 1); err != nil {
		t.Fatal(err)
	}
	clock("0")
	for _, c := range []*single.Cluster{c, join()} {
		err := claim(c, 2)
		if !errors.Is(err, locking.ErrNodeAhead) || !strings.Contains(err.Error(), "`quorate store init --ahead`") {
			t.Errorf("a claim = %v, want %v, and what to do", err, locking.ErrNodeAhead)
		}
	}
	until, err := join().DeclareAhead(t.Context())
	if err != nil || time.Until(until) < 30*time.Minute {
		t.Fatalf("DeclareAhead = %v, %v", until, err)
	}
	for n, c := range []*single.Cluster{c, join()} {
		if err := claim(c, 3+n); err != nil {
			t.Errorf("claim %d: %v", 3+n, err)
		}
	}
}
