package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// What the role may not do for 1.5 s is done afterwards.
func TestRefusedEndOnPostgres(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	storetest.RefusedEnds(t, func(t *testing.T) storetest.Refusing {
		t.Helper()
		schema := w.migrated(t)
		if err := claims.DeclareNew(t.Context(), w.openIn(t, schema, w.URL())); err != nil {
			t.Fatal(err)
		}
		commits := ` EXECUTE ON ALL FUNCTIONS IN SCHEMA ` + pgx.Identifier{schema}.Sanitize()
		return storetest.Refusing{
			Open:    func(tb testing.TB) kv.Server { tb.Helper(); return w.openIn(tb, schema, w.urlAs("replica")) },
			Refuse:  func(tb testing.TB) { tb.Helper(); w.exec(tb, `REVOKE`+commits+` FROM replica`) },
			Restore: func(tb testing.TB) { tb.Helper(); w.exec(tb, `GRANT`+commits+` TO replica`) },
		}
	})
}
