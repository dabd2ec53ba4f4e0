package pgstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/locking"
)

// A server is well exactly if it grants claims, and the check says what it lacks.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	for name, c := range map[string]struct {
		make string // as the owner, in the schema S, for the role R
		want string
	}{
		"well":          {"", ""},
		"serializable":  {`ALTER ROLE R SET default_transaction_isolation = serializable`, "isolation"},
		"only reads":    {`ALTER ROLE R SET default_transaction_read_only = on`, "default_transaction_read_only"},
		"no right":      {`REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA S FROM R; GRANT EXECUTE ON FUNCTION S.read_records, S.list_records, S.schema_version TO R`, "commit_group"},
		"disk full":     {`CREATE FUNCTION S.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full USING MESSAGE = 'no space left on device'; END $$; CREATE TRIGGER f BEFORE INSERT OR UPDATE ON S.records FOR EACH ROW EXECUTE FUNCTION S.full()`, "no space left on device"},
		"table is full": {`ALTER TABLE S.records ADD CHECK (kind <> 'cluster' AND kind <> 'claim') NOT VALID`, "violates check constraint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := strings.ReplaceAll(name, " ", "_")
			w.exec(t, `CREATE ROLE `+role+` LOGIN PASSWORD 'hush'`)
			schema := w.migrated(t)
			w.exec(t, postgres.Grants(schema, role))
			if c.make != "" {
				w.exec(t, strings.NewReplacer("S.", pgx.Identifier{schema}.Sanitize()+".", "SCHEMA S ", "SCHEMA "+pgx.Identifier{schema}.Sanitize()+" ", "ROLE R ", "ROLE "+role+" ", "FROM R;", "FROM "+role+";", "TO R", "TO "+role).Replace(c.make))
			}
			cluster, err := single.Open(w.openIn(t, schema, w.urlAs(role)), claims.Config{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.DeclareNew(t.Context()); c.want == "" && err != nil {
				t.Fatal(err)
			}
			_, granted := cluster.Claims.TryAcquire(t.Context(), locking.Request{Name: "job", Holder: "a"})
			check := view.NewCheckup(cluster.Check(t.Context()), true).Rows[0]
			at := slices.IndexFunc(check.Findings, func(f view.Finding) bool { return f.Topic == "write" || f.Topic == "reach" })
			switch {
			case (at < 0) != (granted == nil) || (check.State == view.NodeReady) != (granted == nil):
				t.Errorf("a claim is granted: %v; the check says %s: %+v", granted, check.State, check.Findings)
			case at >= 0 && !strings.Contains(check.Findings[at].Text, c.want):
				t.Errorf("it finds %q, want %q", check.Findings[at].Text, c.want)
			}
		})
	}
}
