package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// While a transaction is open after Finish, the lease is extended, and other jobs go on. Those that want the
// same job learn that its run goes on, also when the lease has expired.
func (c *finishCase) open() {
	c.requests = map[string][]byte{"a": follower(c.T, "a")}
	tx := c.begin()
	if err := c.finish(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	c.extendPast(c.lease)
	c.wants(ledger.Running, 0)
	c.others()
	c.expire()
	for range 2 {
		_, err := c.claim("job", 1, false)
		taken, _ := errors.AsType[*locking.AcquireError](err)
		if !errors.Is(err, locking.ErrTaken) || errors.Is(err, locking.ErrNoQuorum) || taken.Holder != "a" || taken.HolderToken != c.lease.Claim().Token {
			c.Errorf("behind the transaction: %v", err)
		}
	}
	c.wants(ledger.Interrupted, 0) // nothing more is known of a replica that does not extend
	side := c.cluster.Side(c.database)
	if _, err := side.Memory(c.Context()); err == nil || !strings.Contains(err.Error(), "may end the run of job") {
		c.Errorf("copying: %v", err) // else the copy would run it again
	}
	if err := tx.Commit(); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	if m, err := side.Memory(c.Context()); err != nil || !slices.ContainsFunc(m.Claims, func(claim locking.Holding) bool { return claim.Name == "job" && claim.Done }) {
		c.Errorf("copying: %+v, %v", m, err)
	}
	if open := c.mustOpen(); len(open) != 2 || !slices.ContainsFunc(open, func(a commands.Command) bool { return a.ID == "a" }) {
		c.Errorf("requested are %+v", open)
	}
	c.mustClaim(1, false)
}

// others runs jobs whose keys are beside those of the job, new ones and known ones, and asks for one.
func (c *finishCase) others() {
	c.Helper()
	for _, job := range []string{"a", "joa", "job ", "job!", "job0", "jobs", "next", "z", "job\xc3\xa4"} {
		for n := range 2 {
			l, err := patiently(func() (locking.Lease, error) { return c.claim(job, n, false) })
			if err == nil {
				err = l.Extend(c.Context())
			}
			if err == nil {
				err = l.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded}))
			}
			if err != nil {
				c.Errorf("%q while the transaction of job is open: %v", job, err)
			}
		}
	}
	if _, err := c.cluster.Commands.Do(c.Context(), commands.Command{ID: "0", Kind: commands.Trigger, Job: "other"}); err != nil {
		c.Errorf("a request: %v", err)
	}
	other := c.begin()
	if _, err := Trigger(c.Context(), other, c.database, commands.Command{ID: "b", Job: "rolled back"}); err != nil {
		c.Errorf("a request of another transaction: %v", err)
	}
	_ = other.Rollback()
	if open := c.mustOpen(); len(open) != 1 {
		c.Errorf("requested are %+v", open)
	}
}

// A note is kept byte for byte, as are requests, whatever the settings of the session.
func TestFinishKeepsBytes(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	text := "a\x00b\x1a'\"\\\\n%_\r\n\t" + "äß€\U0001F9E8\u2028" + strings.Repeat("\\'", 100)
	for name, change := range map[string]func(*mysql.Config){
		"prepared": nil, "interpolated": func(c *mysql.Config) { c.InterpolateParams = true },
		"utf8mb3 prepared": session("charset", "utf8mb3", false), "utf8mb3": session("charset", "utf8mb3", true),
		"latin1 prepared": session("charset", "latin1", false), "latin1": session("charset", "latin1", true),
		"ascii prepared": session("charset", "ascii", false), "binary": session("charset", "binary", true),
		"no backslashes": session("sql_mode", "'NO_BACKSLASH_ESCAPES'", true), "quotes": session("sql_mode", "'ANSI_QUOTES'", true), "lax": session("sql_mode", "''", false),
		"converted": session("collation_connection", "latin1_swedish_ci", false), "converted, interpolated": session("collation_connection", "utf16_general_ci", true),
		"at another place": session("time_zone", "'-11:00'", false), "few rows": session("sql_select_limit", "1", true), "parsed times": func(c *mysql.Config) { c.ParseTime = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFinishCase(w.rig(t), sql.LevelDefault, finishGrace-time.Second)
			c.text, c.requests = text, map[string][]byte{"a": follower(t, "a")}
			tx := c.beginOn(w.connect(t, "app", change), sql.LevelDefault)
			params := []byte(`{"x":"\\'\"ä€` + "\U0001F9E8" + `"}`)
			if _, err := Trigger(c.Context(), tx, c.database, commands.Command{ID: "b", Job: "jöb\U0001F9E8", Reason: "\\'\U0001F9E8", Params: params}); err != nil {
				t.Error(err)
			}
			if err := c.end(tx, c.lease); err != nil {
				t.Fatal(err)
			}
			if list := c.entries("job"); len(list) != 1 || list[0].Error != text {
				t.Errorf("the ledger has %+v", list)
			}
			open := c.mustOpen()
			slices.SortFunc(open, func(a, b commands.Command) int { return strings.Compare(a.ID, b.ID) })
			if len(open) != 2 || open[0].Job != "next" || open[1].Job != "jöb\U0001F9E8" || open[1].Reason != "\\'\U0001F9E8" || string(open[1].Params) != string(params) {
				t.Errorf("requested are %+v", open)
			}
		})
	}
}

// session is a setting of sessions.
func session(name, value string, interpolate bool) func(*mysql.Config) {
	return func(c *mysql.Config) {
		c.InterpolateParams = interpolate
		if name == "charset" {
			_ = c.Apply(mysql.Charset(value, ""))
			return
		}
		c.Params = map[string]string{name: value}
	}
}

// TestFinishElsewhere gives Finish a transaction on a server that has another store with the same name, and
// a job of the name. Whatever its tokens, that is not a stale write, and no run of that store ends.
func TestFinishElsewhere(t *testing.T) {
	t.Parallel()
	w, foreign := newFinishWorld(t), newFinishWorld(t)
	for _, order := range []string{"smaller", "larger", "equal", "none", "no tables", "no rights"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			own := w.rigIn(t, order)
			var its *finishCase
			var c *finishCase
			if order == "smaller" {
				its = newFinishCase(foreign.rigIn(t, order), sql.LevelDefault, finishGrace-time.Second)
			}
			c = newFinishCase(own, sql.LevelDefault, finishGrace-time.Second)
			switch order {
			case "larger", "equal":
				its = newFinishCase(foreign.rigIn(t, order), sql.LevelDefault, finishGrace-time.Second)
			case "none":
				_ = foreign.rigIn(t, order)
			case "no tables":
				foreign.Exec(t, "CREATE DATABASE `no tables`", "GRANT ALL ON `no tables`.* TO app")
			case "no rights":
				migrate(t, foreign.Server, order)
			}
			if order == "equal" {
				foreign.setToken(t, order, uint64(its.lease.Claim().Token), uint64(c.lease.Claim().Token))
			}
			c.endsNothingOn(foreign, order)
			if order != "no tables" && order != "no rights" && order != "none" {
				if list := its.entries("job"); len(list) != 1 || list[0].Outcome != ledger.Running {
					t.Errorf("the other store has %+v", list)
				}
			}
			c.mustEnd(c.lease)
		})
	}
}

// endsNothingOn finishes the run in a transaction of another server.
func (c *finishCase) endsNothingOn(foreign *finishWorld, order string) {
	c.Helper()
	var stale []string
	ctx, run := c.prepared(c.lease)
	ctx = fence.WithObserver(ctx, func(e *fence.StaleError) { stale = append(stale, e.Error()) })
	tx, err := foreign.connect(c.T, "app", nil).BeginTx(ctx, nil)
	if err != nil {
		c.Fatal(err)
	}
	err = Finish(ctx, tx, run)
	_ = tx.Rollback()
	if err == nil || errors.Is(err, fence.ErrStale) || len(stale) > 0 || strings.Contains(err.Error(), "\n") {
		c.Fatalf("Finish = %v, and observers heard %v", err, stale)
	}
	want, says := sqlfence.ErrNoClaim, "begin the transaction in the database of the store"
	if order == "no rights" {
		want, says = nil, "store migrate --print --role"
	}
	if want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		c.Errorf("Finish = %v, want %v and %q", err, want, says)
	}
}

// setToken replaces a token in all records of the job.
func (w *finishWorld) setToken(t *testing.T, database string, old, now uint64) {
	t.Helper()
	w.Exec(t, in(database, fmt.Sprintf("UPDATE {database}.records SET value = REPLACE(value, '%d', '%d'), sub = REPLACE(sub, '%016x', '%016x') WHERE name = 'job'", old, now, old, now)))
}

// The database of the session is not asked, whatever it has.
func TestFinishInAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	own, other := w.rig(t), w.rig(t)
	c := newFinishCase(own, sql.LevelDefault, finishGrace-time.Second)
	its := newFinishCase(other, sql.LevelDefault, finishGrace-time.Second)
	db := w.connect(t, "app", func(c *mysql.Config) { c.DBName = other.database })
	if err := c.end(c.beginOn(db, sql.LevelDefault), c.lease); err != nil {
		t.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	its.wants(ledger.Running, 0)
	its.change = func(e *finishtx.End) { e.Schema = quoted(own.database) }
	if err := its.end(its.begin(), its.lease); !errors.Is(err, sqlfence.ErrNoClaim) || errors.Is(err, fence.ErrStale) {
		t.Errorf("Finish in the tables of another namespace = %v", err)
	}
	its.wants(ledger.Running, 0)
}

// Users without the rights of a replica learn what to do, and end nothing.
func TestFinishWantsRights(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	c := newFinishCase(w.rig(t), sql.LevelDefault, finishGrace-time.Second)
	for name, grants := range map[string][]string{
		"none": nil, "reads": {"GRANT SELECT ON {database}.* TO {user}"}, "no slots": {"GRANT SELECT, INSERT, UPDATE ON {database}.records TO {user}"},
		"no inserts": {"GRANT SELECT, UPDATE ON {database}.* TO {user}"}, "a column": {"GRANT SELECT (version), UPDATE ON {database}.records TO {user}"},
	} {
		user := quoted("user " + name)
		w.Exec(t, "CREATE USER "+user+" IDENTIFIED BY 'Geheim1'")
		for _, grant := range grants {
			w.Exec(t, in(c.database, strings.ReplaceAll(grant, "{user}", user)))
		}
		db := w.connect(t, "user "+name, nil)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.end(tx, c.lease)
		if err == nil || !strings.Contains(err.Error(), "quorate-mysql store migrate --print --role") || errors.Is(err, sqlfence.ErrNoClaim) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Finish = %v, want what to do", name, err)
		}
		c.triggerWantsRights(name, db)
	}
	c.wants(ledger.Running, 0)
	c.mustEnd(c.lease)
}

func (c *finishCase) triggerWantsRights(name string, db *sql.DB) {
	c.Helper()
	tx, err := db.BeginTx(c.Context(), nil)
	if err != nil {
		c.Fatal(err)
	}
	_, err = Trigger(context.WithoutCancel(c.Context()), tx, c.database, commands.Command{Job: "next"})
	_ = tx.Rollback()
	if err == nil || !strings.Contains(err.Error(), "quorate-mysql store migrate --print --role") || strings.Contains(err.Error(), "\n") {
		c.Errorf("%s: Trigger = %v, want what to do", name, err)
	}
}
