package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// manyAtOnce commits come together, so most of them go in groups.
const manyAtOnce = 64

// atOnce calls do with 0 to manyAtOnce-1 at once, and returns when all have returned.
func atOnce(do func(n int)) {
	var all sync.WaitGroup
	for n := range manyAtOnce {
		all.Go(func() { do(n) })
	}
	all.Wait()
}

func TestGroups(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	for name, test := range map[string]func(*testing.T, *world){
		"DecideEach": decideEach, "LeaveLocked": leaveLocked, "HaveNoPoison": haveNoPoison, "CutOff": groupsCutOff,
		"LetLifeChange": letLifeChange, "ShareFewConnections": shareFewConnections, "PrepareWithoutPooler": prepareWithoutPooler, "LoseStatements": loseStatements, "ExtendBesideLocks": extendBesideLocks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

func nth(n int) kv.Key { return kv.Key{Kind: kv.Claims, Name: fmt.Sprint("n", n)} }

func putting(incarnation string, k kv.Key, value string) kv.Txn {
	return kv.Txn{Incarnation: incarnation, Put: []kv.Write{{Key: k, Value: json.RawMessage(value)}}}
}

// Each transaction of a group is decided on its own: by the versions that it names, by its
// incarnation, and by what those before it have written.
func decideEach(t *testing.T, w *world) {
	schema := pgx.Identifier{w.migrated(t)}.Sanitize()
	rows, err := connect(t, w.URL()).Query(t.Context(), strings.ReplaceAll(`SELECT decided, won, written FROM S.commit_group(false, false, 0,
		ARRAY[S.life(false), S.life(false), 'another', S.life(false), S.life(false)], '{2,1,1,1,1}',
		'{put,put,if,put,delete,put}', '{claim,claim,claim,claim,claim,claim}', '{x,y,x,z,y,x}', '{"","","","","",""}', '{0,-1,0,-1,-1,-1}', '{1,1,"",1,"",2}')`, "S.", schema+"."))
	if err != nil {
		t.Fatal(err)
	}
	type verdict struct {
		decided, won bool
		version      int64
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v verdict, err error) {
		return v, row.Scan(&v.decided, &v.won, &v.version)
	})
	if err != nil || len(list) != 5 {
		t.Fatalf("%v, %v", list, err)
	}
	for i, won := range []bool{true, false, false, true, true} {
		if v := list[i]; !v.decided || v.won != won || (v.version > 0) != (i == 0 || i == 4) {
			t.Errorf("transaction %d: %+v", i, v)
		}
	}
	if list[0].version == list[4].version {
		t.Errorf("two transactions have the version %d", list[0].version)
	}
}

// A key that another transaction holds makes those wait that need it, and no others: they go alone,
// and leave the rest connections.
func leaveLocked(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.URL())
	incarnation := write(t, s, `1`).Stamp.Incarnation
	tx, err := connect(t, w.URL()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`SET LOCAL search_path = ` + pgx.Identifier{schema}.Sanitize(), `SELECT lock_record('claim', 'x', '', false)`} {
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		atOnce(func(n int) {
			if o, err := s.Commit(ctx, putting(incarnation, keyX, fmt.Sprint(n))); err != nil || !o.Won {
				t.Errorf("behind the lock: Commit = %+v, %v", o, err)
			}
		})
	})
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 20 {
		atOnce(func(n int) {
			if o, err := s.Commit(soon, putting(incarnation, nth(n), `1`)); err != nil || !o.Won {
				t.Errorf("beside the lock: Commit = %+v, %v", o, err)
			}
			if _, _, err := s.Read(soon, nth(n)); err != nil {
				t.Errorf("beside the lock: Read = %v", err)
			}
		})
	}
	wants(t, s, `1`)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
}

// What the server refuses of one member harms that one alone: when it is written, and when the group
// is committed. Until then no verdict counts.
func haveNoPoison(t *testing.T, w *world) {
	for name, setUp := range map[string]string{
		"at once": `CREATE TRIGGER refuse BEFORE INSERT ON S.records FOR EACH ROW WHEN (NEW.name LIKE 'n%3') EXECUTE FUNCTION S.refuse()`,
		"at the end": `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON S.records DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			WHEN (NEW.name LIKE 'n%3') EXECUTE FUNCTION S.refuse()`,
	} {
		schema := w.migrated(t)
		s := w.openIn(t, schema, w.URL())
		incarnation := write(t, s, `1`).Stamp.Incarnation
		w.exec(t, strings.ReplaceAll(`CREATE FUNCTION S.refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE check_violation USING MESSAGE = 'refused: ' || NEW.name; END $$;`+setUp, "S.", pgx.Identifier{schema}.Sanitize()+"."))
		atOnce(func(n int) {
			o, err := s.Commit(t.Context(), putting(incarnation, nth(n), `1`))
			list, _, readErr := s.Read(t.Context(), nth(n))
			switch refused := n%10 == 3; {
			case readErr != nil:
				t.Errorf("%s: Read = %v", name, readErr)
			case refused && (err == nil || !strings.Contains(err.Error(), "refused: "+nth(n).Name+" ") || list[0].Version != 0):
				t.Errorf("%s: %v is to be refused: Commit = %+v, %v, and it is stored as %+v", name, nth(n), o, err, list[0])
			case !refused && (err != nil || !o.Won || list[0].Version != o.Version):
				t.Errorf("%s: %v is to be stored: Commit = %+v, %v, and it is %+v", name, nth(n), o, err, list[0])
			}
		})
	}
}

// What requests say that call a function, prepared and not.
var calls = map[string]string{"": "stmtcache_", "&default_query_exec_mode=exec": "commit_group"}

// A group whose answer is lost is unknown to each of its members.
func groupsCutOff(t *testing.T, w *world) {
	for mode, text := range calls {
		proxy := proxytest.New(t, w.Addr())
		s := w.openIn(t, w.migrated(t), pgtest.URL(proxy.Addr(), url.UserPassword("replica", "hush"), "postgres")+mode)
		incarnation := write(t, s, `1`).Stamp.Incarnation
		proxy.CutReplies(text)
		atOnce(func(n int) {
			if o, err := s.Commit(t.Context(), putting(incarnation, nth(n), `1`)); !kv.Unknown(err) {
				t.Errorf("cut off at %s: Commit = %+v, %v, want that it is unknown", text, o, err)
			}
		})
		proxy.Pass()
		atOnce(func(n int) {
			if list, _, err := s.Read(t.Context(), nth(n)); err != nil || list[0].Key != nth(n) {
				t.Errorf("cut off at %s: Read(%v) = %+v, %v", text, nth(n), list, err)
			}
		})
	}
}

// A record that all compare can be changed while all try.
func letLifeChange(t *testing.T, w *world) {
	s := w.open(t, w.URL())
	incarnation := write(t, s, `1`).Stamp.Incarnation
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := range 20 {
			if o, err := s.Commit(ctx, putting(incarnation, keyX, fmt.Sprint(n))); err != nil || !o.Won {
				t.Errorf("change %d: %+v, %v", n, o, err)
			}
		}
	})
	atOnce(func(n int) {
		for won := 0; won < 10; {
			list, stamp, err := s.Read(ctx, keyX)
			if err != nil {
				t.Errorf("Read = %v", err)
				return
			}
			txn := putting(stamp.Incarnation, nth(n), fmt.Sprint(won))
			txn.If = []kv.Compare{{Key: keyX, Version: list[0].Version}}
			o, err := s.Commit(ctx, txn)
			if err != nil {
				t.Errorf("Commit = %v", err)
				return
			}
			if o.Won {
				won++
			}
		}
	})
	changes.Wait()
}

// Groups fit the server's table of locks: one that is tiny, and the usual one if 20 replicas fill it.
func TestGroupsFitTheTableOfLocks(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		replicas int
		settings []string
	}{
		"tiny":  {1, []string{"max_locks_per_transaction=10", "max_connections=20"}},
		"usual": {20, []string{"max_locks_per_transaction=64", "max_connections=100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: pgtest.Start(t, of.settings...)}
			schema := w.schema()
			if _, err := w.openIn(t, schema, w.URL()).Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			incarnation := write(t, w.openIn(t, schema, w.URL()), `1`).Stamp.Incarnation
			var all sync.WaitGroup
			for replica := range of.replicas {
				s := w.openIn(t, schema, w.URL()+"&pool_max_conns=4")
				all.Go(func() { fillGroups(t, s, incarnation, replica) })
			}
			all.Wait()
		})
	}
}

// fillGroups commits many transactions at once, each of many keys of its own.
func fillGroups(t *testing.T, s *postgres.Store, incarnation string, replica int) {
	for range 5 {
		atOnce(func(n int) {
			txn := putting(incarnation, nth(manyAtOnce*replica+n), `1`)
			for k := range 40 {
				txn.Delete = append(txn.Delete, kv.Key{Kind: kv.Leases, Name: txn.Put[0].Key.Name, Sub: fmt.Sprint(k)})
			}
			o, err := s.Commit(t.Context(), txn)
			for range 20 { // those that go alone may fill the table, too
				if !errors.Is(err, kv.ErrUnavailable) {
					break
				}
				o, err = s.Commit(t.Context(), txn)
			}
			if err != nil || !o.Won {
				t.Errorf("Commit = %+v, %v", o, err)
			}
		})
	}
}

// With one connection, or two, all goes on.
func shareFewConnections(t *testing.T, w *world) {
	schema := w.migrated(t)
	for _, most := range []int{1, 2, 3} {
		s := w.openIn(t, schema, w.URL()+fmt.Sprintf("&pool_max_conns=%d", most))
		incarnation := write(t, s, fmt.Sprint(most)).Stamp.Incarnation
		atOnce(func(n int) {
			if _, err := s.Commit(t.Context(), putting(incarnation, keyX, fmt.Sprint(n))); err != nil {
				t.Errorf("with %d connections: Commit = %v", most, err)
			}
			if _, _, err := s.Read(t.Context(), keyX, nth(n)); err != nil {
				t.Errorf("with %d connections: Read = %v", most, err)
			}
		})
	}
}

// A preparation is what pgx does before it sends a statement by its name.
type preparations struct{ count atomic.Int64 }

func (p *preparations) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	p.count.Add(1)
	return ctx
}

func (*preparations) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

func (*preparations) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (*preparations) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Statements are prepared on the server itself, unless the URL forbids it, and never behind a pooler.
func prepareWithoutPooler(t *testing.T, w *world) {
	for name, test := range map[string]struct {
		url      string
		prepares bool
	}{
		"direct":           {w.URL(), true},
		"forbidden":        {w.URL() + "&default_query_exec_mode=exec", false},
		"without a cache":  {w.URL() + "&statement_cache_capacity=0", false},
		"behind PgBouncer": {w.Bouncer(t), false},
	} {
		var prepared preparations
		s := w.pooled(t, test.url, 0, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &prepared })
		for range 3 {
			write(t, s, `1`)
		}
		if n := prepared.count.Load(); (n > 0) != test.prepares || n > 2 {
			t.Errorf("%s: %d statements were prepared", name, n)
		}
	}
}

// pooled opens a store with a pool of a service.
func (w *world) pooled(t *testing.T, url string, timeout time.Duration, change func(*pgxpool.Config)) *postgres.Store {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return open(t, postgres.Config{Pool: pool, Schema: w.migrated(t), Timeout: timeout})
}

// Where a hook of the pool, or a pooler after all, drops what was prepared, no call fails.
func loseStatements(t *testing.T, w *world) {
	s := w.pooled(t, w.URL(), 0, func(c *pgxpool.Config) {
		c.AfterRelease = func(conn *pgx.Conn) bool {
			_, err := conn.Exec(context.Background(), "DEALLOCATE ALL", pgx.QueryExecModeExec)
			return err == nil
		}
	})
	incarnation := write(t, s, `1`).Stamp.Incarnation
	for range 3 {
		if o, err := s.Commit(t.Context(), putting(incarnation, keyX, `2`)); err != nil || !o.Won {
			t.Errorf("Commit = %+v, %v", o, err)
		}
		if _, _, err := s.Read(t.Context(), keyX); err != nil {
			t.Errorf("Read = %v", err)
		}
		if _, _, err := s.List(t.Context(), kv.Range{Kind: kv.Claims}); err != nil {
			t.Errorf("List = %v", err)
		}
	}
}

// An extension that has to go alone does not wait behind claims that wait for a locked key.
func extendBesideLocks(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.URL())
	incarnation := write(t, s, `1`).Stamp.Incarnation
	tx, err := connect(t, w.URL()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`SET LOCAL search_path = ` + pgx.Identifier{schema}.Sanitize(), `SELECT lock_record('claim', 'x', '', false)`} {
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		atOnce(func(n int) {
			if o, err := s.Commit(t.Context(), putting(incarnation, keyX, fmt.Sprint(n))); err != nil || !o.Won {
				t.Errorf("behind the lock: Commit = %+v, %v", o, err)
			}
		})
	})
	extension := kv.Txn{Incarnation: incarnation, Urgency: kv.Extends}
	for n := range 200 { // more than fit into a group
		extension.Put = append(extension.Put, putting(incarnation, nth(n), `1`).Put...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 20 { // until those behind the lock have taken all places
		if o, err := s.Commit(ctx, extension); err != nil || !o.Won {
			t.Errorf("an extension: Commit = %+v, %v", o, err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
}
